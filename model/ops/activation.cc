#include "model/ops/activation.h"

#include <cstdint>

#include "model/base/check.h"
#include "model/ops/linear_input_rows.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {

void Activate(const SimdKernels& kernels, ActivationKind kind, MatrixView<const float> x,
              const LinearInput& out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols);
  const auto activate =
      kernels.table().activate[static_cast<int>(kind)][PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < x.rows; ++i) {
    activate(x.Row(i), nullptr, x.cols, RowOf(out, i));
    ZeroPadding(out, i);
  }
}

void ActivateGated(const SimdKernels& kernels, ActivationKind kind, MatrixView<const float> gate,
                   MatrixView<const float> up, const LinearInput& out) {
  PHYLLO_CHECK(out.rows == gate.rows && out.cols == gate.cols && up.rows == gate.rows &&
               up.cols == gate.cols);
  const auto activate =
      kernels.table().activate[static_cast<int>(kind)][PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < gate.rows; ++i) {
    activate(gate.Row(i), up.Row(i), gate.cols, RowOf(out, i));
    ZeroPadding(out, i);
  }
}

void AddRows(const SimdKernels& kernels, MatrixView<const float> x, MatrixView<float> y) {
  PHYLLO_CHECK(y.rows == x.rows && y.cols == x.cols);
  for (int64_t i = 0; i < x.rows; ++i) kernels.table().add(x.Row(i), x.cols, y.Row(i));
}

void RoundRows(const SimdKernels& kernels, MatrixView<const float> x, const LinearInput& out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols);
  const auto round = kernels.table().round[PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < x.rows; ++i) {
    round(x.Row(i), x.cols, RowOf(out, i));
    ZeroPadding(out, i);
  }
}

}  // namespace phyllo
