#ifndef PHYLLO_MODEL_TENSOR_LINEAR_INPUT_H_
#define PHYLLO_MODEL_TENSOR_LINEAR_INPUT_H_

#include <cstddef>
#include <cstdint>

#include "model/tensor/matrix_view.h"

namespace phyllo {

// How the weights of a matrix product are stored. Sums are accumulated in f32, of the quantised
// ones in int32, where they are exact.
enum class Precision {
  kF32,   // float; the input, too
  kBf16,  // bfloat16, the upper 16 bits of a float; the input, too
  kInt8,  // a signed byte and one scale per output feature; the input is of bytes with a scale per
          // row
  kInt4,  // 4 bits, an integer multiplier per group of 32 inputs, one scale per output feature; the
          // input is that of kInt8
};

// The precision in which a product with such weights reads its input: kF32, kBf16 or kInt8.
constexpr Precision InputPrecision(Precision weights) {
  return weights == Precision::kInt4 ? Precision::kInt8 : weights;
}

// Bytes of one element of an input. Requires a precision that inputs have.
constexpr int64_t BytesPerElement(Precision input) {
  switch (input) {
    case Precision::kF32:
      return 4;
    case Precision::kBf16:
      return 2;
    default:
      return 1;
  }
}

// Bytes behind the elements of a row that hold its scale: in kInt8 one cache line.
constexpr int64_t RowScaleBytes(Precision input) { return input == Precision::kInt8 ? 64 : 0; }

// The row stride, in elements, of the input of a matrix product over k elements: k rounded up to
// whole cache lines, room for the row's scale, and one line more where rows would otherwise start a
// multiple of 4096 bytes apart and fall into the same cache set.
constexpr int64_t LinearInputStride(int64_t k, Precision input) {
  const int64_t granule = input == Precision::kInt8 ? 64 : 32;
  const int64_t padded = (k + granule - 1) / granule * granule + RowScaleBytes(input);
  return padded * BytesPerElement(input) % 4096 == 0 ? padded + granule : padded;
}

// Borrowed rows that are (or become) the input of a matrix product: [rows, cols] in `precision`,
// row-major with stride == LinearInputStride(cols, precision). Elements of a row from cols to the
// stride are zero: whoever writes a row writes them too. A value type that owns nothing; base
// address 64-byte aligned.
//
// kInt8: the element of value x is the byte round(x * (1 / scale)) + kInt8Zero, round() in [-127,
// 127] and to nearest even, scale = (largest |x| of the row) / 127. A row whose largest |x| is less
// than 2^-119 is one of zeros: scale 0, bytes kInt8Zero. The scale of a row with a value that is
// not finite is NaN, so that all its products are; its bytes mean nothing. Bytes from cols to the
// last cache line of the stride are kInt8Zero; that line begins with the scale, a float.
struct LinearInput {
  static constexpr int kInt8Zero = 128;  // the byte of 0, so that bytes are unsigned

  Precision precision = Precision::kF32;  // one that inputs have
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

  // The bytes of kInt8. Requires that precision.
  MatrixView<uint8_t> AsInt8() const { return {static_cast<uint8_t*>(data), rows, cols, stride()}; }
  // The scale of a row. Requires kInt8.
  float& RowScale(int64_t row) const {
    return *reinterpret_cast<float*>(AsInt8().Row(row) + stride() - RowScaleBytes(precision));
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
