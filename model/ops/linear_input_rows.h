#ifndef PHYLLO_MODEL_OPS_LINEAR_INPUT_ROWS_H_
#define PHYLLO_MODEL_OPS_LINEAR_INPUT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/tensor/linear_input.h"

namespace phyllo {

// How the functions of model/ops write a LinearInput; private to model/ops.

// The index of a precision in the kernel table.
inline int PrecisionIndex(Precision precision) { return precision == Precision::kF32 ? 0 : 1; }

// Row i, [cols] and its padding.
inline std::byte* RowOf(const LinearInput& out, int64_t i) {
  return static_cast<std::byte*>(out.data) + i * out.row_bytes();
}

// Zeroes what lies between cols and the stride of row i.
inline void ZeroPadding(const LinearInput& out, int64_t i) {
  const int64_t used = out.cols * BytesPerElement(out.precision);
  std::memset(RowOf(out, i) + used, 0, static_cast<size_t>(out.row_bytes() - used));
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_LINEAR_INPUT_ROWS_H_
