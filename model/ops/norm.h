#ifndef PHYLLO_MODEL_OPS_NORM_H_
#define PHYLLO_MODEL_OPS_NORM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "model/ops/simd_kernels.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// All functions here work row by row, allocate nothing and are thread-safe for disjoint rows of the
// output; the result of a row depends on that row only. Reductions are f32 in one fixed order.

// Root mean square normalization (Zhang and Sennrich 2019, eq. 4; transformers LlamaRMSNorm):
//   out[i, j] = x[i, j] / sqrt(mean_j(x[i, j]^2) + eps) * weight[j]
// x [n, d] f32, weight [d], out [n, d] in its precision with its padding. `weight` is multiplied
// after the division, all in f32.
void RmsNorm(const SimdKernels& kernels, MatrixView<const float> x, absl::Span<const float> weight,
             float eps, const LinearInput& out);

// The same into f32 rows of any stride; out may be x.
void RmsNorm(const SimdKernels& kernels, MatrixView<const float> x, absl::Span<const float> weight,
             float eps, MatrixView<float> out);

// Layer normalization (Ba et al. 2016; torch.nn.LayerNorm): out = (x - mean) / sqrt(variance + eps)
// * weight + bias, the variance being the biased one. x [n, d] f32, weight [d], bias [d] or empty
// for none, out [n, d] in its precision with its padding.
void LayerNorm(const SimdKernels& kernels, MatrixView<const float> x,
               absl::Span<const float> weight, absl::Span<const float> bias, float eps,
               const LinearInput& out);
void LayerNorm(const SimdKernels& kernels, MatrixView<const float> x,
               absl::Span<const float> weight, absl::Span<const float> bias, float eps,
               MatrixView<float> out);

// RMS normalization of each head of q or k by itself, in place (Qwen3, MiniMind-3): x [n, heads *
// head_dim], weight [head_dim]. Requires x.cols to be a multiple of weight.size().
void RmsNormHeads(const SimdKernels& kernels, MatrixView<float> x, absl::Span<const float> weight,
                  float eps);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_NORM_H_
