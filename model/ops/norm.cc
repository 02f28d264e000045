#include "model/ops/norm.h"

#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/ops/linear_input_rows.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {

void RmsNorm(const SimdKernels& kernels, MatrixView<const float> x, absl::Span<const float> weight,
             float eps, const LinearInput& out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols &&
               static_cast<int64_t>(weight.size()) == x.cols);
  const auto norm = kernels.table().rms_norm[PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < x.rows; ++i) {
    const float scale = norm(x.Row(i), weight.data(), eps, x.cols, RowOf(out, i));
    FinishRow(out, i, scale);
  }
}

void RmsNorm(const SimdKernels& kernels, MatrixView<const float> x, absl::Span<const float> weight,
             float eps, MatrixView<float> out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols &&
               static_cast<int64_t>(weight.size()) == x.cols);
  for (int64_t i = 0; i < x.rows; ++i)
    kernels.table().rms_norm[0](x.Row(i), weight.data(), eps, x.cols, out.Row(i));
}

void LayerNorm(const SimdKernels& kernels, MatrixView<const float> x,
               absl::Span<const float> weight, absl::Span<const float> bias, float eps,
               const LinearInput& out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols &&
               static_cast<int64_t>(weight.size()) == x.cols);
  PHYLLO_CHECK(bias.empty() || bias.size() == weight.size());
  const auto norm = kernels.table().layer_norm[PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < x.rows; ++i) {
    const float scale = norm(x.Row(i), weight.data(), bias.empty() ? nullptr : bias.data(), eps,
                             x.cols, RowOf(out, i));
    FinishRow(out, i, scale);
  }
}

void LayerNorm(const SimdKernels& kernels, MatrixView<const float> x,
               absl::Span<const float> weight, absl::Span<const float> bias, float eps,
               MatrixView<float> out) {
  PHYLLO_CHECK(out.rows == x.rows && out.cols == x.cols &&
               static_cast<int64_t>(weight.size()) == x.cols);
  PHYLLO_CHECK(bias.empty() || bias.size() == weight.size());
  for (int64_t i = 0; i < x.rows; ++i) {
    kernels.table().layer_norm[0](x.Row(i), weight.data(), bias.empty() ? nullptr : bias.data(),
                                  eps, x.cols, out.Row(i));
  }
}

void RmsNormHeads(const SimdKernels& kernels, MatrixView<float> x, absl::Span<const float> weight,
                  float eps) {
  const auto head_dim = static_cast<int64_t>(weight.size());
  PHYLLO_CHECK(head_dim > 0 && x.cols % head_dim == 0);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (float* head = x.Row(i); head < x.Row(i) + x.cols; head += head_dim) {
      kernels.table().rms_norm[0](head, weight.data(), eps, head_dim, head);
    }
  }
}

}  // namespace phyllo
