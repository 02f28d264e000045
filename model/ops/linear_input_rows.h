#ifndef PHYLLO_MODEL_OPS_LINEAR_INPUT_ROWS_H_
#define PHYLLO_MODEL_OPS_LINEAR_INPUT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/tensor/linear_input.h"

namespace phyllo {

// How the functions of model/ops write a LinearInput; private to model/ops.

// The index of a precision in the kernel table.
inline int PrecisionIndex(Precision precision) { return static_cast<int>(precision); }

// Row i, [cols] and its padding.
inline std::byte* RowOf(const LinearInput& out, int64_t i) {
  return static_cast<std::byte*>(out.data) + i * out.row_bytes();
}

// Writes what lies between cols and the stride of row i: the padding and in kInt8 the scale.
inline void FinishRow(const LinearInput& out, int64_t i, float scale) {
  const int64_t used = out.cols * BytesPerElement(out.precision);
  const int64_t padded = out.row_bytes() - RowScaleBytes(out.precision);
  std::byte* const row = RowOf(out, i);
  const int zero = out.precision == Precision::kInt8 ? LinearInput::kInt8Zero : 0;
  std::memset(row + used, zero, static_cast<size_t>(padded - used));
  if (out.precision != Precision::kInt8) return;
  std::memset(row + padded, 0, static_cast<size_t>(out.row_bytes() - padded));
  out.RowScale(i) = scale;
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_LINEAR_INPUT_ROWS_H_
