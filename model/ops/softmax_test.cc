#include "model/ops/softmax.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/ops/simd_kernel_table.h"
#include "model/ops/testing/op_test_data.h"
#include "model/ops/testing/reference_ops.h"

namespace phyllo {
namespace {

constexpr int64_t kSizes[] = {1, 2, 15, 16, 17, 100, 6400, 50257};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(SoftmaxTest, MatchesReferenceAndSumsToOne) {
  for (SimdLevel level : SupportedSimdLevels()) {
    for (int64_t n : kSizes) {
      const std::vector<float> x = RandomFloats(n, static_cast<uint32_t>(n), 4.0f);
      std::vector<float> out(x.size());
      Softmax(SimdKernels(level), x, absl::MakeSpan(out));
      const double log_sum = ReferenceLogSumExp(Widen(x.data(), n));
      for (size_t j = 0; j < x.size(); ++j) {
        const double expected = std::exp(x[j] - log_sum);
        // The exponential of a difference of up to 40 with its rounding, and the sum's.
        ASSERT_NEAR(out[j], expected, 6e-6 * expected + 1e-30) << n;
      }
      EXPECT_NEAR(std::accumulate(out.begin(), out.end(), 0.0), 1.0, 1e-5);
    }
  }
}

TEST(SoftmaxTest, GivesZeroToMinusInfinity) {
  std::vector<float> x = {-kInfinity, 1.0f, 1.0f, -kInfinity};
  Softmax(SimdKernels::ForThisCpu(), x, absl::MakeSpan(x));
  EXPECT_EQ(x, (std::vector<float>{0.0f, 0.5f, 0.5f, 0.0f}));
}

TEST(SoftmaxTest, GivesNanWhenTheRowHoldsNan) {
  std::vector<float> x = RandomFloats(40, 1);
  x[20] = kNan;
  Softmax(SimdKernels::ForThisCpu(), x, absl::MakeSpan(x));
  for (float value : x) EXPECT_TRUE(std::isnan(value));
}

TEST(LogSoftmaxTest, MatchesReference) {
  for (SimdLevel level : SupportedSimdLevels()) {
    for (int64_t n : kSizes) {
      const std::vector<float> x = RandomFloats(n, static_cast<uint32_t>(n), 4.0f);
      std::vector<float> out(x.size());
      LogSoftmax(SimdKernels(level), x, absl::MakeSpan(out));
      const double log_sum = ReferenceLogSumExp(Widen(x.data(), n));
      for (size_t j = 0; j < x.size(); ++j)
        ASSERT_NEAR(out[j], x[j] - log_sum, 4e-6) << "values up to about 40 in f32";
    }
  }
}

TEST(SoftmaxTest, GivesTheSameBitsWithBothInstructionSets) {
  if (SupportedSimdLevels().size() < 2) GTEST_SKIP() << "this CPU has no AVX-512";
  for (int64_t n : kSizes) {
    const std::vector<float> x = RandomFloats(n, 7, 4.0f);
    std::vector<float> v3(x.size()), v4(x.size());
    Softmax(SimdKernels(SimdLevel::kX86V3), x, absl::MakeSpan(v3));
    Softmax(SimdKernels(SimdLevel::kX86V4), x, absl::MakeSpan(v4));
    EXPECT_EQ(v3, v4) << n;
    EXPECT_EQ(LogSumExp(SimdKernels(SimdLevel::kX86V3), x),
              LogSumExp(SimdKernels(SimdLevel::kX86V4), x))
        << n;
  }
}

TEST(ArgmaxTest, FindsTheLowestIndexOfTheLargest) {
  for (SimdLevel level : SupportedSimdLevels()) {
    const SimdKernels kernels(level);
    EXPECT_EQ(Argmax(kernels, {3.0f}), 0);
    EXPECT_EQ(Argmax(kernels, {-kInfinity, -kInfinity}), 0);
    for (int64_t at : {0, 1, 15, 16, 40, 99}) {
      std::vector<float> x(100, -2.0f);
      x[99] = x[static_cast<size_t>(at)] = 5.0f;
      EXPECT_EQ(Argmax(kernels, x), at);
    }
  }
}

TEST(ArgmaxTest, ReturnsMinusOneWhenTheRowHoldsNan) {
  for (size_t at : {size_t{0}, size_t{16}, size_t{39}}) {
    std::vector<float> x(40, 1.0f);
    x[at] = kNan;
    EXPECT_EQ(Argmax(SimdKernels::ForThisCpu(), x), -1);
  }
}

TEST(ExpKernelTest, IsWithinTwoUlpOverTheWholeRange) {
  std::vector<float> x;
  for (float value = -104.0f; value < 88.72f; value += 0.00137f) x.push_back(value);
  std::vector<float> out(x.size());
  for (SimdLevel level : SupportedSimdLevels()) {
    SimdKernels(level).table().exp(x.data(), static_cast<int64_t>(x.size()), out.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = std::exp(static_cast<double>(x[i]));
      ASSERT_NEAR(out[i], expected, 2 * 0x1p-23 * expected + 0x1p-149) << x[i];
    }
  }
}

TEST(ExpKernelTest, KeepsSpecialValues) {
  const std::vector<float> x = {0.0f, -kInfinity, kInfinity, kNan, 89.0f, -200.0f};
  std::vector<float> out(x.size());
  for (SimdLevel level : SupportedSimdLevels()) {
    SimdKernels(level).table().exp(x.data(), static_cast<int64_t>(x.size()), out.data());
    EXPECT_EQ(out[0], 1.0f);
    EXPECT_EQ(out[1], 0.0f);
    EXPECT_EQ(out[2], kInfinity);
    EXPECT_TRUE(std::isnan(out[3]));
    EXPECT_EQ(out[4], kInfinity);
    EXPECT_EQ(out[5], 0.0f);
  }
}

}  // namespace
}  // namespace phyllo
