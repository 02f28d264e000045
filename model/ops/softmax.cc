#include "model/ops/softmax.h"

#include <cstdint>

#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {

void Softmax(const SimdKernels& kernels, absl::Span<const float> x, absl::Span<float> out) {
  PHYLLO_CHECK(!x.empty() && out.size() == x.size());
  kernels.table().softmax(x.data(), static_cast<int64_t>(x.size()), out.data());
}

float LogSumExp(const SimdKernels& kernels, absl::Span<const float> x) {
  PHYLLO_CHECK(!x.empty());
  return kernels.table().log_sum_exp(x.data(), static_cast<int64_t>(x.size()));
}

void LogSoftmax(const SimdKernels& kernels, absl::Span<const float> x, absl::Span<float> out) {
  PHYLLO_CHECK(out.size() == x.size());
  kernels.table().subtract(x.data(), LogSumExp(kernels, x), static_cast<int64_t>(x.size()),
                           out.data());
}

int64_t Argmax(const SimdKernels& kernels, absl::Span<const float> x) {
  PHYLLO_CHECK(!x.empty());
  return kernels.table().argmax(x.data(), static_cast<int64_t>(x.size()));
}

}  // namespace phyllo
