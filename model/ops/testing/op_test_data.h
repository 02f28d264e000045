#ifndef PHYLLO_MODEL_OPS_TESTING_OP_TEST_DATA_H_
#define PHYLLO_MODEL_OPS_TESTING_OP_TEST_DATA_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/ops/simd_kernels.h"
#include "model/tensor/dtype.h"
#include "model/tensor/linear_input.h"

namespace phyllo {

// `count` normally distributed numbers times `scale`; the same for the same seed.
inline std::vector<float> RandomFloats(int64_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random) * scale;
  return values;
}

inline std::vector<double> Widen(const float* values, int64_t count) {
  return std::vector<double>(values, values + count);
}

// The instruction sets that this CPU runs.
inline std::vector<SimdLevel> SupportedSimdLevels() {
  const SimdLevel widest = DetectSimdLevel();
  if (widest == SimdLevel::kX86V3) return {SimdLevel::kX86V3};
  if (widest == SimdLevel::kX86V4) return {SimdLevel::kX86V3, SimdLevel::kX86V4};
  return {SimdLevel::kX86V3, SimdLevel::kX86V4, SimdLevel::kX86V4Bf16};
}

// Memory for the rows of a LinearInput, filled with NaN (kInt8: with bytes 255, scales of NaN).
// Thread-compatible.
class LinearInputBuffer {
 public:
  LinearInputBuffer(int64_t rows, int64_t cols, Precision precision)
      : bytes_(static_cast<size_t>(LinearInput::BytesFor(rows, cols, precision)), 0xff),
        view_{precision, bytes_.data(), rows, cols} {}
  LinearInputBuffer(const LinearInputBuffer&) = delete;
  LinearInputBuffer& operator=(const LinearInputBuffer&) = delete;

  const LinearInput& view() const { return view_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

  // The number that element (i, j) stands for; j may be in the padding.
  float At(int64_t i, int64_t j) const {
    switch (view_.precision) {
      case Precision::kF32:
        return view_.AsF32().Row(i)[j];
      case Precision::kBf16:
        return Bf16ToFloat(view_.AsBf16().Row(i)[j]);
      default:
        return static_cast<float>(view_.AsInt8().Row(i)[j] - LinearInput::kInt8Zero) *
               view_.RowScale(i);
    }
  }

  // How many elements a row has with its padding.
  int64_t padded_cols() const { return view_.stride() - RowScaleBytes(view_.precision); }

 private:
  std::vector<uint8_t> bytes_;
  LinearInput view_;
};

// Row i of `out` is x [cols] as the comment of LinearInput says it of kInt8. Requires kInt8.
inline void ExpectRowOfBytes(const LinearInput& out, int64_t i, const float* x) {
  float largest = 0.0f;
  bool finite = true;
  for (int64_t j = 0; j < out.cols; ++j) {
    finite = finite && std::isfinite(x[j]);
    largest = std::max(largest, std::abs(x[j]));
  }
  if (!finite) {
    EXPECT_TRUE(std::isnan(out.RowScale(i))) << "row " << i;
    return;
  }
  const float scale = largest < 0x1p-119f ? 0.0f : largest / 127.0f;
  ASSERT_EQ(out.RowScale(i), scale) << "row " << i;
  for (int64_t j = 0; j < out.stride() - RowScaleBytes(out.precision); ++j) {
    const float quotient = j < out.cols && scale > 0.0f ? x[j] * (1.0f / scale) : 0.0f;
    ASSERT_EQ(static_cast<int>(out.AsInt8().Row(i)[j]),
              static_cast<int>(std::nearbyint(quotient)) + LinearInput::kInt8Zero)
        << i << ", " << j;
  }
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_TESTING_OP_TEST_DATA_H_
