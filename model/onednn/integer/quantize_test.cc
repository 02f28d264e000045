#include "model/onednn/integer/quantize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(QuantizeToInt8Test, UsesTheWholeRangeOfBytes) {
  std::vector<int8_t> q(5);
  const std::vector<float> w = {-2.54f, 0.0f, 0.05f, 1.27f, 2.54f};
  EXPECT_FLOAT_EQ(QuantizeToInt8(w, absl::MakeSpan(q)), 0.02f);
  EXPECT_THAT(q, ElementsAre(-127, 0, 2, 64, 127));
}

TEST(QuantizeToInt8Test, IsWithinHalfAStep) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> w(1000);
  for (float& value : w) value = normal(random);
  std::vector<int8_t> q(w.size());
  const float scale = QuantizeToInt8(w, absl::MakeSpan(q));
  for (size_t i = 0; i < w.size(); ++i)
    EXPECT_NEAR(scale * static_cast<float>(q[i]), w[i], 0.5001f * scale);
}

TEST(QuantizeToInt8Test, GivesZeroForARowOfZeros) {
  std::vector<int8_t> q(9, 1);
  EXPECT_EQ(QuantizeToInt8(std::vector<float>(9), absl::MakeSpan(q)), 0.0f);
  EXPECT_THAT(q, Each(0));
}

TEST(QuantizeToInt8Test, StaysInRangeForSubnormalRows) {
  std::vector<int8_t> q(2);
  for (const float tiny : {1e-45f, 1.4e-43f, 3e-43f, 1e-39f}) {
    const float scale = QuantizeToInt8(std::vector<float>{tiny, -tiny}, absl::MakeSpan(q));
    EXPECT_EQ(q[0], -q[1]);
    EXPECT_NEAR(scale * static_cast<float>(q[0]), tiny, tiny);
  }
}

TEST(QuantizeToInt8Test, ReturnsNanWhenAWeightIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<int8_t> q(3, 1);
    EXPECT_TRUE(std::isnan(QuantizeToInt8(std::vector<float>{1.0f, bad, 2.0f}, absl::MakeSpan(q))));
    EXPECT_THAT(q, Each(0));
  }
}

}  // namespace
}  // namespace phyllo
