#include "model/transformer/packing/tensor_packing.h"

#include <algorithm>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

// Rows [row, row + count) of a weight, which lie behind each other in the file.
WeightSlice SliceOf(const WeightSpec& spec, const TensorView& tensor, int64_t row, int64_t count) {
  const int64_t stride = tensor.shape.back();
  const int64_t first = spec.TensorRow(row) * (spec.transposed ? 1 : stride);
  return {.data = tensor.data.data() + first * ByteSize(tensor.dtype),
          .dtype = tensor.dtype,
          .layout = spec.transposed ? WeightSlice::Layout::kInOut : WeightSlice::Layout::kOutIn,
          .out_features = count,
          .in_features = spec.columns,
          .stride = stride};
}

// Packs rows [row, row_end) of a weight as rows linear_row, linear_row + 1, ... of `linear`: plain
// types straight from the file, block types by way of floats.
absl::Status Pack(const WeightSpec& spec, const TensorView& tensor, int64_t row, int64_t row_end,
                  int64_t linear_row, PackedLinear& linear) {
  if (!IsPlainWeightDType(tensor.dtype)) {
    std::vector<float> rows((row_end - row) * spec.columns);
    ReadWeightRows(spec, tensor, row, absl::MakeSpan(rows));
    return linear.PackRows(linear_row, {.data = rows.data(),
                                        .dtype = DType::kF32,
                                        .layout = WeightSlice::Layout::kOutIn,
                                        .out_features = row_end - row,
                                        .in_features = spec.columns,
                                        .stride = spec.columns});
  }
  while (row < row_end) {
    const int64_t count = spec.ContiguousRows(row, row_end - row);
    PHYLLO_RETURN_IF_ERROR(linear.PackRows(linear_row, SliceOf(spec, tensor, row, count)));
    row += count;
    linear_row += count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PackTensor(const WeightSpec& spec, const TensorView& tensor, int64_t row_begin,
                        ThreadPool& pool, PackedLinear& linear) {
  constexpr int64_t kRowsPerTask = kLinearPanel;
  const int64_t row_end = row_begin + spec.rows;
  const int64_t first_task = row_begin / kRowsPerTask;
  const int64_t last_task = (row_end - 1) / kRowsPerTask;
  absl::Mutex mutex;
  absl::Status first_error;
  pool.ParallelFor(last_task - first_task + 1, [&](int64_t task, int /*worker*/) {
    const int64_t begin = std::max(row_begin, (first_task + task) * kRowsPerTask);
    const int64_t end = std::min(row_end, (first_task + task + 1) * kRowsPerTask);
    const absl::Status status =
        Pack(spec, tensor, begin - row_begin, end - row_begin, begin, linear);
    absl::MutexLock lock(&mutex);
    first_error.Update(status);
  });
  return first_error;
}

}  // namespace phyllo
