#ifndef PHYLLO_MODEL_OPS_SOFTMAX_H_
#define PHYLLO_MODEL_OPS_SOFTMAX_H_

#include <cstdint>

#include "absl/types/span.h"
#include "model/ops/simd_kernels.h"

namespace phyllo {

// All functions here work on one row [v], allocate nothing and are thread-safe. Sums are f32 in one
// fixed order. v >= 1.

// out[j] = exp(x[j] - max) / sum_i exp(x[i] - max). out may be x. -inf gives 0; a NaN or +inf in x
// gives NaN.
void Softmax(const SimdKernels& kernels, absl::Span<const float> x, absl::Span<float> out);

// max(x) + log(sum_j exp(x[j] - max(x))): log-softmax of x[j] is x[j] - LogSumExp(x). NaN when x
// holds a NaN.
float LogSumExp(const SimdKernels& kernels, absl::Span<const float> x);

// out[j] = x[j] - LogSumExp(x). out may be x.
void LogSoftmax(const SimdKernels& kernels, absl::Span<const float> x, absl::Span<float> out);

// The lowest index of the largest element; -1 when x holds a NaN.
int64_t Argmax(const SimdKernels& kernels, absl::Span<const float> x);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_SOFTMAX_H_
