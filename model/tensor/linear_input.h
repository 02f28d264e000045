#ifndef PHYLLO_MODEL_TENSOR_LINEAR_INPUT_H_
#define PHYLLO_MODEL_TENSOR_LINEAR_INPUT_H_

#include <cstddef>
#include <cstdint>

#include "model/tensor/matrix_view.h"

namespace phyllo {

// The type both operands of a matrix product have; products and sums are always accumulated in f32.
enum class Precision {
  kF32,   // float
  kBf16,  // bfloat16, as the upper 16 bits of a float
};

// Bytes of one operand element: 4 or 2.
constexpr int64_t BytesPerElement(Precision precision) {
  return precision == Precision::kF32 ? 4 : 2;
}

// The row stride, in elements, of the input of a matrix product over k elements: k rounded up to
// whole cache lines, and one line more where rows would otherwise start a multiple of 4096 bytes
// apart and fall into the same cache set.
constexpr int64_t LinearInputStride(int64_t k, Precision precision) {
  const int64_t padded = (k + 31) / 32 * 32;
  return padded * BytesPerElement(precision) % 4096 == 0 ? padded + 32 : padded;
}

// Borrowed rows that are (or become) the input of a matrix product: [rows, cols] in `precision`,
// row-major with stride == LinearInputStride(cols, precision). Elements of a row from cols to the
// stride are zero: whoever writes a row writes them too. A value type that owns nothing; base
// address 64-byte aligned.
struct LinearInput {
  Precision precision = Precision::kF32;
  void* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;

  int64_t stride() const { return LinearInputStride(cols, precision); }
  int64_t row_bytes() const { return stride() * BytesPerElement(precision); }

  // The f32 or bf16 elements as a matrix [rows, cols]. Requires the matching precision.
  MatrixView<float> AsF32() const { return {static_cast<float*>(data), rows, cols, stride()}; }
  MatrixView<uint16_t> AsBf16() const {
    return {static_cast<uint16_t*>(data), rows, cols, stride()};
  }

  // Rows [begin, begin + count). Requires 0 <= begin, begin + count <= rows.
  LinearInput SubRows(int64_t begin, int64_t count) const {
    return {precision, static_cast<std::byte*>(data) + begin * row_bytes(), count, cols};
  }

  // Bytes that [rows, cols] in `precision` needs.
  static constexpr int64_t BytesFor(int64_t rows, int64_t cols, Precision precision) {
    return rows * LinearInputStride(cols, precision) * BytesPerElement(precision);
  }
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TENSOR_LINEAR_INPUT_H_
