// Invariants:
// - weights_ holds NumPanels() panels in the layout of panel_layout.h; panel p has the output
//   features [p * kLinearPanel, ...). Features and inputs behind the real ones are zero, as is the
//   padding of x, so they add nothing.
// - An element of y is bias + (the chunks' sums over k, in the order of linear_kernel_set.h):
//   nothing here splits or reorders it further.
// - In int8 and int4 the sum is an exact integer, and y one fused multiply-add of it in f32.
#include "model/onednn/packed_linear.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/base/rounding.h"
#include "model/base/status_macros.h"
#include "model/onednn/linear_kernel_set.h"
#include "model/onednn/panel_layout.h"
#include "model/onednn/tile_rows.h"
#include "model/onednn/weight_packing.h"

namespace phyllo {
namespace {

// A task reads at least this much of the weights, so that claiming tasks costs little.
constexpr int64_t kMinTaskBytes = int64_t{64} << 10;
// Rows of a task when there are too few panels to go round; a multiple of kLinearRowBlock, at most
// kLinearTaskRows.
constexpr int64_t kFewPanelsTaskRows = 128;

int64_t NumPanels(int64_t out_features) { return CeilDiv(out_features, kLinearPanel); }

absl::Status CheckRows(int64_t row_begin, int64_t count, int64_t out_features, const char* what) {
  if (row_begin >= 0 && count >= 0 && count <= out_features && row_begin <= out_features - count)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " rows ", row_begin, " to ",
                                                 row_begin + count, " do not fit into ",
                                                 out_features, " output features"));
}

}  // namespace

absl::StatusOr<PackedLinear> PackedLinear::Create(const Spec& spec, LinearKernels& kernels,
                                                  HugePageArena& arena) {
  constexpr int64_t kMaxOutFeatures = int64_t{1} << 32;
  if (spec.out_features < 1 || spec.out_features > kMaxOutFeatures) {
    return absl::InvalidArgumentError(
        absl::StrCat("out_features is ", spec.out_features, ", must be 1 to ", kMaxOutFeatures));
  }
  PHYLLO_ASSIGN_OR_RETURN(std::shared_ptr<const LinearKernelSet> set,
                          kernels.Get(spec.in_features, spec.precision));
  const int64_t num_panels = NumPanels(spec.out_features);
  PHYLLO_ASSIGN_OR_RETURN(std::byte* const weights,
                          arena.Allocate(num_panels * set->layout().panel_bytes()));
  PHYLLO_ASSIGN_OR_RETURN(const absl::Span<float> bias,
                          arena.AllocateSpan<float>(num_panels * kLinearPanel));
  return PackedLinear(spec, std::move(set), weights, bias);
}

PackedLinear::PackedLinear(const Spec& spec, std::shared_ptr<const LinearKernelSet> kernels,
                           std::byte* weights, absl::Span<float> bias)
    : in_features_(spec.in_features),
      out_features_(spec.out_features),
      precision_(spec.precision),
      kernels_(std::move(kernels)),
      weights_(weights),
      bias_(bias) {}

absl::Status PackedLinear::PackRows(int64_t row_begin, const WeightSlice& weight) {
  PHYLLO_RETURN_IF_ERROR(CheckRows(row_begin, weight.out_features, out_features_, "weight"));
  if (weight.in_features != in_features_) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight has ", weight.in_features, " input features, not ", in_features_));
  }
  if (!IsPlainWeightDType(weight.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight has type ", DTypeName(weight.dtype), ", not F32, F16 or BF16"));
  }
  PackWeights(weight, kernels_->layout(), row_begin, weights_);
  return absl::OkStatus();
}

absl::Status PackedLinear::PackBias(int64_t row_begin, absl::Span<const float> bias) {
  PHYLLO_RETURN_IF_ERROR(
      CheckRows(row_begin, static_cast<int64_t>(bias.size()), out_features_, "bias"));
  std::copy(bias.begin(), bias.end(), bias_.begin() + row_begin);
  return absl::OkStatus();
}

void PackedLinear::Forward(const LinearInput& x, MatrixView<float> y, ThreadPool& pool,
                           LinearScratch& scratch) const {
  Run(x, y, /*add=*/false, pool, scratch);
}

void PackedLinear::ForwardAdd(const LinearInput& x, MatrixView<float> y, ThreadPool& pool,
                              LinearScratch& scratch) const {
  Run(x, y, /*add=*/true, pool, scratch);
}

void PackedLinear::ForwardAll(absl::Span<LinearProduct> products, ThreadPool& pool,
                              LinearScratch& scratch) {
  PHYLLO_CHECK(scratch.num_workers() >= pool.num_threads());
  int64_t task_count = 0;
  for (LinearProduct& product : products) {
    product.linear->CheckShapes(product.x, product.y);
    product.first_task = task_count;
    task_count += product.linear->CutWhole(product.x.rows, pool.num_threads()).count;
  }
  pool.ParallelFor(task_count, [&](int64_t task, int worker) {
    // The last product that begins at or before the task; those without rows have no tasks.
    const LinearProduct& product = *std::prev(
        std::upper_bound(products.begin(), products.end(), task,
                         [](int64_t t, const LinearProduct& p) { return t < p.first_task; }));
    const Tasks tasks = product.linear->CutWhole(product.x.rows, pool.num_threads());
    product.linear->RunTask(tasks, task - product.first_task, product.x, product.y, /*add=*/false,
                            scratch, worker);
  });
}

void PackedLinear::ForwardTiles(const LinearInput& x, TileVisitor visit, ThreadPool& pool,
                                LinearScratch& scratch) const {
  CheckInput(x);
  PHYLLO_CHECK(scratch.num_workers() >= pool.num_threads());
  const Tasks tasks = CutWhole(x.rows, pool.num_threads());
  pool.ParallelFor(tasks.count, [&](int64_t task, int worker) {
    const auto take = [&](const LinearInput& rows, int64_t row, int64_t panel,
                          const std::byte* tile) {
      alignas(64) float values[kLinearRowBlock * kLinearPanel];
      for (int64_t begin = 0; begin < rows.rows; begin += kLinearRowBlock) {
        const int64_t count = std::min(kLinearRowBlock, rows.rows - begin);
        const MatrixView<float> y = {values, count, PanelColumns(panel), kLinearPanel};
        WriteTile(rows.SubRows(begin, count), panel, /*add=*/false,
                  tile + begin * LinearScratch::kTileRowBytes, y);
        visit(y, row + begin, panel * kLinearPanel, worker);
      }
    };
    MultiplyTask(tasks, task, x, scratch, worker, take);
  });
}

void PackedLinear::ForwardTilePairs(const LinearInput& x, TilePairVisitor visit, ThreadPool& pool,
                                    LinearScratch& scratch) const {
  CheckInput(x);
  PHYLLO_CHECK(scratch.num_workers() >= pool.num_threads());
  PHYLLO_CHECK(out_features_ % (2 * kLinearPanel) == 0);
  const int64_t half = NumPanels(out_features_) / 2;
  const Tasks tasks = CutIntoTasks(half, x.rows, pool.num_threads());
  pool.ParallelFor(tasks.count, [&](int64_t task, int worker) {
    const auto take = [&](const LinearInput& rows, int64_t row, int64_t panel,
                          const std::byte* tile) {
      std::byte* const second_tile = scratch.SecondTile(worker);
      MultiplyPanel(rows, panel + half, scratch, worker, second_tile);
      alignas(64) float values[2][kLinearRowBlock * kLinearPanel];
      for (int64_t begin = 0; begin < rows.rows; begin += kLinearRowBlock) {
        const int64_t count = std::min(kLinearRowBlock, rows.rows - begin);
        const int64_t offset = begin * LinearScratch::kTileRowBytes;
        const MatrixView<float> first = {values[0], count, kLinearPanel, kLinearPanel};
        const MatrixView<float> second = {values[1], count, kLinearPanel, kLinearPanel};
        const LinearInput block = rows.SubRows(begin, count);
        WriteTile(block, panel, /*add=*/false, tile + offset, first);
        WriteTile(block, panel + half, /*add=*/false, second_tile + offset, second);
        visit(first, second, row + begin, panel * kLinearPanel, worker);
      }
    };
    MultiplyTask(tasks, task, x, scratch, worker, take);
  });
}

int64_t PackedLinear::PackedBytes(const Spec& spec) {
  const int64_t bias_bytes = kLinearPanel * static_cast<int64_t>(sizeof(float));
  return NumPanels(spec.out_features) *
         (PanelLayout(spec.in_features, spec.precision).panel_bytes() + bias_bytes);
}

void PackedLinear::CheckInput(const LinearInput& x) const {
  PHYLLO_CHECK(x.precision == InputPrecision(precision_) && x.cols == in_features_);
}

void PackedLinear::CheckShapes(const LinearInput& x, MatrixView<float> y) const {
  CheckInput(x);
  PHYLLO_CHECK(y.rows == x.rows && y.cols == out_features_);
}

int64_t PackedLinear::PanelColumns(int64_t panel) const {
  return std::min(kLinearPanel, out_features_ - panel * kLinearPanel);
}

PackedLinear::Tasks PackedLinear::CutIntoTasks(int64_t panels, int64_t rows,
                                               int num_threads) const {
  // A task is a range of panels and a range of rows. Few rows: whole rows, and as many panels as
  // make a task worth claiming. Many rows: one panel, which stays in the second-level cache while
  // the rows pass by.
  const int64_t panels_per_task =
      rows <= kLinearRowBlock
          ? std::max<int64_t>(1, kMinTaskBytes / kernels_->layout().panel_bytes())
          : 1;
  const int64_t panel_groups = CeilDiv(panels, panels_per_task);
  const int64_t rows_per_task =
      panel_groups >= 8 * num_threads ? kLinearTaskRows : kFewPanelsTaskRows;
  const int64_t row_groups = CeilDiv(rows, rows_per_task);
  return {.panels = panels,
          .panels_per_task = panels_per_task,
          .rows_per_task = rows_per_task,
          .row_groups = row_groups,
          .count = panel_groups * row_groups};
}

PackedLinear::Tasks PackedLinear::CutWhole(int64_t rows, int num_threads) const {
  return CutIntoTasks(NumPanels(out_features_), rows, num_threads);
}

void PackedLinear::Run(const LinearInput& x, MatrixView<float> y, bool add, ThreadPool& pool,
                       LinearScratch& scratch) const {
  CheckShapes(x, y);
  PHYLLO_CHECK(scratch.num_workers() >= pool.num_threads());
  const Tasks tasks = CutWhole(x.rows, pool.num_threads());
  pool.ParallelFor(tasks.count, [&](int64_t task, int worker) {
    RunTask(tasks, task, x, y, add, scratch, worker);
  });
}

void PackedLinear::RunTask(const Tasks& tasks, int64_t task, const LinearInput& x,
                           MatrixView<float> y, bool add, LinearScratch& scratch,
                           int worker) const {
  MultiplyTask(tasks, task, x, scratch, worker,
               [&](const LinearInput& rows, int64_t row, int64_t panel, const std::byte* tile) {
                 WriteTile(
                     rows, panel, add, tile,
                     y.SubRows(row, rows.rows).SubCols(panel * kLinearPanel, PanelColumns(panel)));
               });
}

void PackedLinear::MultiplyTask(const Tasks& tasks, int64_t task, const LinearInput& x,
                                LinearScratch& scratch, int worker, TakeTile take) const {
  const int64_t panel_begin = task / tasks.row_groups * tasks.panels_per_task;
  const int64_t panel_end = std::min(tasks.panels, panel_begin + tasks.panels_per_task);
  const int64_t row_begin = task % tasks.row_groups * tasks.rows_per_task;
  const int64_t row_end = std::min(x.rows, row_begin + tasks.rows_per_task);
  // With one chunk a tile is used as soon as it is done, while it is in the first-level cache.
  // Int4 is unpacked once for all rows.
  const bool one_chunk = kernels_->num_chunks() == 1 && precision_ != Precision::kInt4;
  const int64_t step = one_chunk ? kernels_->max_rows() : tasks.rows_per_task;
  for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
    for (int64_t row = row_begin; row < row_end; row += step) {
      const LinearInput input = x.SubRows(row, std::min(step, row_end - row));
      MultiplyPanel(input, panel, scratch, worker, scratch.Tile(worker));
      take(input, row, panel, scratch.Tile(worker));
    }
  }
  LinearKernelSet::Leave();
}

void PackedLinear::MultiplyPanel(const LinearInput& x, int64_t panel, LinearScratch& scratch,
                                 int worker, std::byte* tile) const {
  const std::byte* const panel_weights = weights_ + panel * kernels_->layout().panel_bytes();
  if (x.rows <= kernels_->max_few_rows())
    return kernels_->RunFew(x.rows, x.data, panel_weights, tile);
  for (int64_t chunk = 0; chunk < kernels_->num_chunks(); ++chunk) {
    LinearKernelSet::Weights weights =
        kernels_->ReadChunk(chunk, panel_weights, scratch.Unpacked(worker));
    int64_t entered = 0;
    for (int64_t row = 0; row < x.rows; row += kernels_->max_rows()) {
      const int64_t m = std::min(kernels_->max_rows(), x.rows - row);
      if (m != entered) kernels_->Enter(chunk, m);
      entered = m;
      kernels_->Run(chunk, m, x.SubRows(row, m).data, weights,
                    tile + row * LinearScratch::kTileRowBytes, scratch.Scratchpad(worker));
      weights.next = nullptr;  // has been fetched
    }
  }
}

void PackedLinear::WriteTile(const LinearInput& x, int64_t panel, bool add, const std::byte* tile,
                             MatrixView<float> y) const {
  const PanelLayout& layout = kernels_->layout();
  const float* const bias = bias_.data() + panel * kLinearPanel;
  std::byte* const weights = weights_ + panel * layout.panel_bytes();
  for (int64_t i = 0; i < y.rows; ++i) {
    const std::byte* const sums = tile + i * LinearScratch::kTileRowBytes;
    if (x.precision == Precision::kInt8) {
      WriteIntegerRow(reinterpret_cast<const int32_t*>(sums), layout.Offsets(weights),
                      layout.Scales(weights), x.RowScale(i), bias, y.cols, add, y.Row(i));
    } else {
      WriteFloatRow(reinterpret_cast<const float*>(sums), bias, y.cols, add, y.Row(i));
    }
  }
}

}  // namespace phyllo
