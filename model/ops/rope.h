#ifndef PHYLLO_MODEL_OPS_ROPE_H_
#define PHYLLO_MODEL_OPS_ROPE_H_

#include <cstdint>

#include "model/ops/simd_kernels.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// Rotary position embedding, half-rotated form (Su et al. 2021, as transformers' rotate_half), in
// place on every head of q or k: with r = 2 * cos.cols rotated elements, for i < r / 2
//   x[i]         = x[i] * cos[i] - x[i + r / 2] * sin[i]
//   x[i + r / 2] = x[i + r / 2] * cos[i] + x[i] * sin[i]
// x [n, heads * head_dim] f32; cos, sin [n, r / 2]: the row of each token's position (any attention
// scaling of YaRN already multiplied in). Elements of a head from r to head_dim stay as they are.
// Requires x.cols to be a multiple of head_dim and r <= head_dim. Row by row; thread-safe for
// disjoint rows.
void ApplyRope(const SimdKernels& kernels, MatrixView<float> x, int64_t head_dim,
               MatrixView<const float> cos, MatrixView<const float> sin);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_ROPE_H_
