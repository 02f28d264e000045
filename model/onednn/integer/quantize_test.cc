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

struct Int4Row {
  explicit Int4Row(const std::vector<float>& w)
      : q(w.size()), multipliers((w.size() + kInt4Group - 1) / kInt4Group) {
    scale = QuantizeToInt4(w, absl::MakeSpan(multipliers), absl::MakeSpan(q));
  }
  double Value(size_t i) const { return double{scale} * multipliers[i / kInt4Group] * q[i]; }

  std::vector<int8_t> q;
  std::vector<uint8_t> multipliers;
  float scale;
};

// Root of the mean squared error, relative to that of the weights.
double RelativeError(const std::vector<float>& w) {
  const Int4Row row(w);
  double error = 0.0, square = 0.0;
  for (size_t i = 0; i < w.size(); ++i) {
    error += (w[i] - row.Value(i)) * (w[i] - row.Value(i));
    square += double{w[i]} * w[i];
  }
  return std::sqrt(error / square);
}

TEST(QuantizeToInt4Test, ReproducesWhatFourBitsCanSay) {
  // Two groups, the steps of the second three times those of the first.
  std::vector<float> w;
  for (int i = 0; i < 32; ++i) w.push_back(0.25f * static_cast<float>(i % 16 - 8));
  for (int i = 0; i < 32; ++i) w.push_back(0.75f * static_cast<float>(i % 16 - 8));
  EXPECT_LT(RelativeError(w), 0.02);
}

TEST(QuantizeToInt4Test, LosesLessThanARowWithTheLargestWeightAtItsEnd) {
  // Normal weights in groups of 32: 0.097 if the largest of a group is 7 steps, 0.088 by search.
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> w(64 * 1024);
  for (const float size : {1.0f, 1e-20f, 1e20f}) {
    for (float& value : w) value = size * normal(random);
    double sum = 0.0;
    for (size_t begin = 0; begin < w.size(); begin += 1024) {
      const double error =
          RelativeError(std::vector<float>(w.begin() + begin, w.begin() + begin + 1024));
      sum += error * error;
    }
    EXPECT_NEAR(std::sqrt(sum / 64), 0.088, 0.001) << "size " << size;
  }
}

TEST(QuantizeToInt4Test, StaysInRangeAndFillsUpTheLastGroup) {
  std::mt19937 random(6);
  std::student_t_distribution<float> heavy_tails(2.0f);
  for (const size_t k : {1, 31, 33, 100}) {
    std::vector<float> w(k);
    for (float& value : w) value = heavy_tails(random);
    const Int4Row row(w);
    for (const int q : row.q) EXPECT_TRUE(q >= -8 && q <= 7) << q;
    for (const int multiplier : row.multipliers) EXPECT_TRUE(multiplier <= 15) << multiplier;
    EXPECT_LT(RelativeError(w), 0.2) << k;
  }
}

TEST(QuantizeToInt4Test, GivesZeroForZerosAndForGroupsOfZeros) {
  const Int4Row zeros(std::vector<float>(40));
  EXPECT_EQ(zeros.scale, 0.0f);
  EXPECT_THAT(zeros.q, Each(0));
  std::vector<float> w(64);
  w[40] = 7.0f;
  const Int4Row one(w);
  EXPECT_EQ(one.multipliers[0], 0);
  EXPECT_NEAR(one.Value(40), 7.0, 1e-5);
}

TEST(QuantizeToInt4Test, ReturnsNanWhenAWeightIsNotFinite) {
  const Int4Row row({1.0f, std::numeric_limits<float>::infinity(), 2.0f});
  EXPECT_TRUE(std::isnan(row.scale));
  EXPECT_THAT(row.q, Each(0));
}

}  // namespace
}  // namespace phyllo
