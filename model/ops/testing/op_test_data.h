#ifndef PHYLLO_MODEL_OPS_TESTING_OP_TEST_DATA_H_
#define PHYLLO_MODEL_OPS_TESTING_OP_TEST_DATA_H_

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

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
  if (DetectSimdLevel() == SimdLevel::kX86V4) return {SimdLevel::kX86V3, SimdLevel::kX86V4};
  return {SimdLevel::kX86V3};
}

// Memory for the rows of a LinearInput, filled with NaN. Thread-compatible.
class LinearInputBuffer {
 public:
  LinearInputBuffer(int64_t rows, int64_t cols, Precision precision)
      : bytes_(static_cast<size_t>(LinearInput::BytesFor(rows, cols, precision)), 0xff),
        view_{precision, bytes_.data(), rows, cols} {}
  LinearInputBuffer(const LinearInputBuffer&) = delete;
  LinearInputBuffer& operator=(const LinearInputBuffer&) = delete;

  const LinearInput& view() const { return view_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

  // Element (i, j), widened; j may be in the padding.
  float At(int64_t i, int64_t j) const {
    return view_.precision == Precision::kF32 ? view_.AsF32().Row(i)[j]
                                              : Bf16ToFloat(view_.AsBf16().Row(i)[j]);
  }

 private:
  std::vector<uint8_t> bytes_;
  LinearInput view_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_TESTING_OP_TEST_DATA_H_
