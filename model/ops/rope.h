#ifndef PHYLLO_MODEL_OPS_ROPE_H_
#define PHYLLO_MODEL_OPS_ROPE_H_

#include <cstdint>

#include "model/ops/simd_kernels.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// Which two elements a, b of a head belong to the i-th angle, with r rotated elements.
enum class RopePairs {
  kHalves,       // i and i + r / 2: transformers' rotate_half
  kInterleaved,  // 2 i and 2 i + 1: the paper's own form
};

// Rotary position embedding (Su et al. 2021), in place on every head of q or k: with r = 2 *
// cos.cols rotated elements, for i < r / 2
//   a, b = a * cos[i] - b * sin[i], b * cos[i] + a * sin[i]
// x [n, heads * head_dim] f32; cos, sin [n, r / 2]: the row of each token's position (any attention
// scaling of YaRN already multiplied in). Elements of a head from r to head_dim stay as they are.
// Requires x.cols to be a multiple of head_dim and r <= head_dim. Row by row; thread-safe for
// disjoint rows.
void ApplyRope(const SimdKernels& kernels, RopePairs pairs, MatrixView<float> x, int64_t head_dim,
               MatrixView<const float> cos, MatrixView<const float> sin);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_ROPE_H_
