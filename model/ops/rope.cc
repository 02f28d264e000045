#include "model/ops/rope.h"

#include <cstdint>

#include "model/base/check.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {

void ApplyRope(const SimdKernels& kernels, RopePairs pairs, MatrixView<float> x, int64_t head_dim,
               MatrixView<const float> cos, MatrixView<const float> sin) {
  PHYLLO_CHECK(head_dim > 0 && x.cols % head_dim == 0 && 2 * cos.cols <= head_dim);
  PHYLLO_CHECK(cos.rows == x.rows && sin.rows == x.rows && sin.cols == cos.cols);
  const auto rope = kernels.table().rope[static_cast<int>(pairs)];
  for (int64_t i = 0; i < x.rows; ++i)
    rope(x.Row(i), x.cols / head_dim, head_dim, cos.cols, cos.Row(i), sin.Row(i));
}

}  // namespace phyllo
