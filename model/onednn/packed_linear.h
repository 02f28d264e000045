#ifndef PHYLLO_MODEL_ONEDNN_PACKED_LINEAR_H_
#define PHYLLO_MODEL_ONEDNN_PACKED_LINEAR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/onednn/linear_kernels.h"
#include "model/onednn/weight_slice.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

class PackedLinear;

// One product of PackedLinear::ForwardAll. Borrowed.
struct LinearProduct {
  const PackedLinear* linear = nullptr;  // not null
  LinearInput x;                         // [m, in_features]
  MatrixView<float> y;                   // [m, out_features]
  int64_t first_task = 0;                // set by ForwardAll
};

// A linear layer y = x · Wᵀ + bias with its weights packed once in the order the kernels read them.
//   x [m, in_features] in InputPrecision(precision)
//   W [out_features, in_features]
//   y [m, out_features] f32
// Several checkpoint tensors that share x (q, k and v; gate and up) are packed behind each other
// along out_features.
//
// Determinism: y[i, j] depends on row i of x, on row j of W and on bias[j] only: not on m, on which
// rows surround it, or on the number of threads. Work is divided over out_features and over rows,
// never over in_features, and one kernel family serves every m.
//
// Filled by Create and Pack*, then immutable: any number of threads may call Forward at once, each
// with its own pool and scratch. Weights lie in the arena, which must outlive this object.
//
//   PHYLLO_ASSIGN_OR_RETURN(
//       PackedLinear qkv,
//       PackedLinear::Create({.in_features = d, .out_features = n}, kernels, arena));
//   PHYLLO_RETURN_IF_ERROR(qkv.PackRows(0, q_proj));
//   PHYLLO_RETURN_IF_ERROR(qkv.PackRows(q_rows, k_proj));
class PackedLinear {
 public:
  struct Spec {
    int64_t in_features = 0;
    int64_t out_features = 0;
    Precision precision = Precision::kF32;
  };

  // Reserves the packed weights (zero) in `arena`, takes the kernels for in_features from
  // `kernels`, creating them if they are new there. INVALID_ARGUMENT for a size < 1 or, in int8 and
  // int4, in_features whose sums could exceed int32 (LinearKernels::kMaxInt8InFeatures);
  // RESOURCE_EXHAUSTED when the arena cannot grow; FAILED_PRECONDITION when this CPU has no kernel.
  static absl::StatusOr<PackedLinear> Create(const Spec& spec, LinearKernels& kernels,
                                             HugePageArena& arena);

  PackedLinear(PackedLinear&&) = default;
  PackedLinear& operator=(PackedLinear&&) = default;

  // Packs `weight` as rows [row_begin, row_begin + weight.out_features) of W, converting to the
  // precision (to bf16: round to nearest even; to int8 and int4: QuantizeTo* of each row, which
  // needs the memory of 16 rows in f32). Calls whose rows share no panel (kLinearPanel rows from a
  // multiple of it) may run at once. INVALID_ARGUMENT when it does not fit or its in_features or
  // dtype is wrong.
  absl::Status PackRows(int64_t row_begin, const WeightSlice& weight);

  // Sets bias[row_begin, row_begin + bias.size()); what is never set is 0. INVALID_ARGUMENT when it
  // does not fit.
  absl::Status PackBias(int64_t row_begin, absl::Span<const float> bias);

  // y = x · Wᵀ + bias. Requires x.precision == InputPrecision(precision()), x.cols ==
  // in_features(), y [x.rows, out_features()] with any stride, and scratch made for at least
  // pool.num_threads() workers. Allocates nothing. x.rows may be 0.
  void Forward(const LinearInput& x, MatrixView<float> y, ThreadPool& pool,
               LinearScratch& scratch) const;

  // y += x · Wᵀ + bias: the residual form, same requirements; the sum x · Wᵀ + bias is rounded to
  // f32 before it is added.
  void ForwardAdd(const LinearInput& x, MatrixView<float> y, ThreadPool& pool,
                  LinearScratch& scratch) const;

  // Forward, the same bits, whose y [x.rows, out_features()] is nowhere written whole: `visit` gets
  // it in tiles, each once, in any order, on all workers of the pool at once. A tile [m, n] is y
  // from (row, column) on; `visit` may change it, and it is gone when `visit` returns. Requires of
  // x, pool and scratch what Forward requires. Allocates nothing.
  using TileVisitor =
      absl::FunctionRef<void(MatrixView<float> tile, int64_t row, int64_t column, int worker)>;
  void ForwardTiles(const LinearInput& x, TileVisitor visit, ThreadPool& pool,
                    LinearScratch& scratch) const;

  // ForwardTiles of the halves of y, columns [0, n / 2) and [n / 2, n), n = out_features(), side by
  // side: `visit` gets each tile of the first with the one n / 2 columns behind it. Requires that n
  // is a multiple of 2 * kLinearPanel.
  using TilePairVisitor = absl::FunctionRef<void(MatrixView<float> first, MatrixView<float> second,
                                                 int64_t row, int64_t column, int worker)>;
  void ForwardTilePairs(const LinearInput& x, TilePairVisitor visit, ThreadPool& pool,
                        LinearScratch& scratch) const;

  // Forward of every product, the same bits, with all their work shared out over the threads at
  // once: for many small products (the experts of a layer) of which none would keep all threads
  // busy. Requires of each what Forward requires, and that no y overlaps another. Allocates
  // nothing.
  static void ForwardAll(absl::Span<LinearProduct> products, ThreadPool& pool,
                         LinearScratch& scratch);

  int64_t in_features() const { return in_features_; }
  int64_t out_features() const { return out_features_; }
  Precision precision() const { return precision_; }

  // Bytes that Create takes of the arena, for packed weights and bias. Requires what Create does.
  static int64_t PackedBytes(const Spec& spec);

 private:
  PackedLinear(const Spec& spec, std::shared_ptr<const LinearKernelSet> kernels, std::byte* weights,
               absl::Span<float> bias);

  // How a product with the first `panels` panels is cut into tasks: ranges of panels times ranges
  // of rows.
  struct Tasks {
    int64_t panels;
    int64_t panels_per_task;
    int64_t rows_per_task;
    int64_t row_groups;
    int64_t count;
  };
  void CheckInput(const LinearInput& x) const;
  void CheckShapes(const LinearInput& x, MatrixView<float> y) const;
  Tasks CutIntoTasks(int64_t panels, int64_t rows, int num_threads) const;
  // The same with all panels.
  Tasks CutWhole(int64_t rows, int num_threads) const;

  void Run(const LinearInput& x, MatrixView<float> y, bool add, ThreadPool& pool,
           LinearScratch& scratch) const;
  void RunTask(const Tasks& tasks, int64_t task, const LinearInput& x, MatrixView<float> y,
               bool add, LinearScratch& scratch, int worker) const;
  // Calls `take` with every tile of the task: MultiplyPanel's of `rows`, the rows of x from `row`
  // on.
  using TakeTile = absl::FunctionRef<void(const LinearInput& rows, int64_t row, int64_t panel,
                                          const std::byte* tile)>;
  void MultiplyTask(const Tasks& tasks, int64_t task, const LinearInput& x, LinearScratch& scratch,
                    int worker, TakeTile take) const;
  int64_t PanelColumns(int64_t panel) const;
  // tile [x.rows, kLinearPanel] = x · (panel of W)ᵀ, for at most kLinearTaskRows rows; in int8 and
  // int4 a sum of bytes in int32.
  void MultiplyPanel(const LinearInput& x, int64_t panel, LinearScratch& scratch, int worker,
                     std::byte* tile) const;
  // y [x.rows, columns of the panel] = or += what a tile means.
  void WriteTile(const LinearInput& x, int64_t panel, bool add, const std::byte* tile,
                 MatrixView<float> y) const;

  int64_t in_features_;
  int64_t out_features_;
  Precision precision_;
  std::shared_ptr<const LinearKernelSet>
      kernels_;             // shared by all layers with the same in_features and precision
  std::byte* weights_;      // panels: see panel_layout.h
  absl::Span<float> bias_;  // [out_features padded to whole panels]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_PACKED_LINEAR_H_
