#include "model/ops/activation.h"

#include <cstdint>

#include "model/base/check.h"
#include "model/ops/linear_input_rows.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {

void Activate(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> x,
              const LinearInput& out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols);
  const auto activate =
      kernels.table().activate[static_cast<int>(kind)][PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < x.rows; ++i) {
    const float scale = activate(x.Row(i), nullptr, x.cols, RowOf(out, i));
    FinishRow(out, i, scale);
  }
}

void ActivateGated(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> gate,
                   MatrixView<const float> up, const LinearInput& out) {
  PHYLLO_CHECK(out.rows == gate.rows && out.cols == gate.cols && up.rows == gate.rows &&
               up.cols == gate.cols);
  const auto activate =
      kernels.table().activate[static_cast<int>(kind)][PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < gate.rows; ++i) {
    const float scale = activate(gate.Row(i), up.Row(i), gate.cols, RowOf(out, i));
    FinishRow(out, i, scale);
  }
}

void ActivateGated(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> gate,
                   MatrixView<const float> up, MatrixView<float> out) {
  PHYLLO_CHECK(out.rows == gate.rows && out.cols == gate.cols && up.rows == gate.rows &&
               up.cols == gate.cols);
  const auto activate =
      kernels.table().activate[static_cast<int>(kind)][PrecisionIndex(Precision::kF32)];
  for (int64_t i = 0; i < gate.rows; ++i) activate(gate.Row(i), up.Row(i), gate.cols, out.Row(i));
}

void ActivateGatedColumns(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> gate,
                          MatrixView<const float> up, int64_t column, const LinearInput& out) {
  PHYLLO_CHECK(out.rows == gate.rows && up.rows == gate.rows && up.cols == gate.cols);
  PHYLLO_CHECK(column >= 0 && column + gate.cols <= out.cols && out.precision != Precision::kInt8);
  const auto activate =
      kernels.table().activate[static_cast<int>(kind)][PrecisionIndex(out.precision)];
  const bool is_last = column + gate.cols == out.cols;
  for (int64_t i = 0; i < gate.rows; ++i) {
    activate(gate.Row(i), up.Row(i), gate.cols,
             RowOf(out, i) + column * BytesPerElement(out.precision));
    if (is_last) FinishRow(out, i, 1.0f);
  }
}

void AddScaledRows(const SimdKernels& kernels, float factor, MatrixView<const float> x,
                   MatrixView<float> y) {
  PHYLLO_CHECK(y.rows == x.rows && y.cols == x.cols);
  for (int64_t i = 0; i < x.rows; ++i)
    kernels.table().add_scaled(x.Row(i), factor, x.cols, y.Row(i));
}

void SoftCapRows(const SimdKernels& kernels, float divisor, float cap, MatrixView<float> x) {
  PHYLLO_CHECK(divisor != 0.0f && cap >= 0.0f);
  for (int64_t i = 0; i < x.rows; ++i)
    kernels.table().soft_cap(x.Row(i), divisor, cap, x.cols, x.Row(i));
}

void RoundRows(const SimdKernels& kernels, MatrixView<const float> x, const LinearInput& out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols);
  const auto round = kernels.table().round[PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < x.rows; ++i) {
    const float scale = round(x.Row(i), x.cols, RowOf(out, i));
    FinishRow(out, i, scale);
  }
}

}  // namespace phyllo
