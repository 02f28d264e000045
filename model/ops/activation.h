#ifndef PHYLLO_MODEL_OPS_ACTIVATION_H_
#define PHYLLO_MODEL_OPS_ACTIVATION_H_

#include <cstdint>

#include "model/ops/simd_kernels.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// The non-linearity of a feed-forward network.
enum class ActivationKind {
  kSilu,      // x * sigmoid(x)
  kGelu,      // x * Phi(x), exact: 0.5 x (1 + erf(x / sqrt 2))
  kGeluTanh,  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): gelu_new, gelu_pytorch_tanh
  kRelu,      // max(x, 0)
};

// All functions here work element by element (but for the scale of a row in kInt8), allocate
// nothing and are thread-safe for disjoint rows of what they write. A NaN stays a NaN, in kInt8 the
// scale of its row.

// out[i, j] = act(x[i, j]); x [n, f] f32, out [n, f] in its precision with its padding. If that is
// kInt8, x becomes the results in f32.
void Activate(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> x,
              const LinearInput& out);

// The gated form (Shazeer 2020, "GLU variants"): out[i, j] = act(gate[i, j]) * up[i, j]; gate, up
// [n, f] f32 (columns of one fused product may be given as two views), out [n, f] in its precision
// with its padding. If that is kInt8, gate becomes the results in f32.
void ActivateGated(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> gate,
                   MatrixView<const float> up, const LinearInput& out);

// The same into f32 [n, f] of any stride, and into columns [column, column + f) of an out [n, >= f]
// of f32 or bf16, whose padding is written by whoever writes its last column.
void ActivateGated(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> gate,
                   MatrixView<const float> up, MatrixView<float> out);
void ActivateGatedColumns(const SimdKernels& kernels, ActivationKind kind, MatrixView<float> gate,
                          MatrixView<const float> up, int64_t column, const LinearInput& out);

// y[i, j] += factor * x[i, j], the product rounded before it is added; x, y [n, d].
void AddScaledRows(const SimdKernels& kernels, float factor, MatrixView<const float> x,
                   MatrixView<float> y);

// x[i, j] = cap * tanh(x[i, j] / divisor / cap), in place; cap 0: x[i, j] / divisor. x [n, v].
// Requires divisor != 0, cap >= 0.
void SoftCapRows(const SimdKernels& kernels, float divisor, float cap, MatrixView<float> x);

// out[i, j] = x[i, j] rounded to out's precision (bf16: to nearest even, NaN stays NaN; kInt8: see
// LinearInput), and its padding; x, out [n, d].
void RoundRows(const SimdKernels& kernels, MatrixView<const float> x, const LinearInput& out);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_ACTIVATION_H_
