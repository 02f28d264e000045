#include "model/config/rope.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/rope_parameters.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

// The expected frequencies were computed in double, from the formulas of rope.h, by a separate
// program. Ours are rounded to float at most eight times on the way: 8 * 2^-24 < 1e-6 relative.
void ExpectFrequencies(absl::Span<const float> got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6 * want[i]) << i;
}

RopeParameters Parameters(RopeType type, double theta, double factor, int64_t original) {
  RopeParameters rope;
  rope.rope_type = type;
  rope.rope_theta = theta;
  rope.factor = factor;
  rope.original_max_position_embeddings = original;
  return rope;
}

TEST(RopeFrequenciesTest, ComputesDefault) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const RopeFrequencies rope,
      RopeFrequencies::Create(Parameters(RopeType::kDefault, 1e6, 1, 0), 20, 256));
  ExpectFrequencies(rope.inverse_frequencies(),
                    {1, 0.251188643, 0.0630957344, 0.0158489319, 0.00398107171, 0.001,
                     0.000251188643, 6.30957344e-05, 1.58489319e-05, 3.98107171e-06});
  EXPECT_EQ(rope.rotary_dim(), 20);
  EXPECT_EQ(rope.attention_factor(), 1.0f);
  EXPECT_EQ(rope.length_limit(), std::numeric_limits<int64_t>::max());
}

TEST(RopeFrequenciesTest, DividesByFactorWhenLinear) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const RopeFrequencies rope,
      RopeFrequencies::Create(Parameters(RopeType::kLinear, 1e4, 4, 256), 8, 256));
  ExpectFrequencies(rope.inverse_frequencies(), {0.25, 0.025, 0.0025, 0.00025});
  EXPECT_EQ(rope.attention_factor(), 1.0f);
}

TEST(RopeFrequenciesTest, BlendsByWavelengthWhenLlama3) {
  RopeParameters parameters = Parameters(RopeType::kLlama3, 1e4, 8, 64);
  parameters.low_freq_factor = 1;
  parameters.high_freq_factor = 4;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies rope,
                              RopeFrequencies::Create(parameters, 16, 512));
  ExpectFrequencies(rope.inverse_frequencies(),
                    {1, 0.244384599, 0.013042256, 0.00395284708, 0.00125, 0.000395284708, 0.000125,
                     3.95284708e-05});
}

TEST(RopeFrequenciesTest, ComputesYarnOfThePaper) {
  RopeParameters parameters = Parameters(RopeType::kYarn, 1e4, 4, 64);
  parameters.beta_fast = 2;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies rope,
                              RopeFrequencies::Create(parameters, 16, 256));
  ExpectFrequencies(rope.inverse_frequencies(), {1, 0.316227766, 0.0625, 0.00790569415, 0.0025,
                                                 0.000790569415, 0.00025, 7.90569415e-05});
  EXPECT_FLOAT_EQ(rope.attention_factor(), 1.13862944f);
}

TEST(RopeFrequenciesTest, KeepsYarnRangeFractionalWithoutTruncate) {
  RopeParameters parameters = Parameters(RopeType::kYarn, 5e4, 8, 32);
  parameters.beta_fast = 6;
  parameters.truncate = false;
  parameters.mscale = 1.0;
  parameters.mscale_all_dim = 0.5;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies rope,
                              RopeFrequencies::Create(parameters, 16, 256));
  ExpectFrequencies(rope.inverse_frequencies(),
                    {1, 0.0706042113, 0.00835925381, 0.00216170418, 0.000559016994, 0.000144561871,
                     3.73837195e-05, 9.66743497e-06});
  EXPECT_FLOAT_EQ(rope.attention_factor(), 1.09417999f);
}

TEST(RopeFrequenciesTest, TakesYarnAttentionFactorAsGiven) {
  RopeParameters parameters = Parameters(RopeType::kYarn, 1e4, 4, 64);
  parameters.attention_factor = 0.75;
  parameters.mscale = 1.0;
  parameters.mscale_all_dim = 0.5;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies rope,
                              RopeFrequencies::Create(parameters, 16, 256));
  EXPECT_EQ(rope.attention_factor(), 0.75f);
}

TEST(RopeFrequenciesTest, ComputesMinimindYarn) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const RopeFrequencies rope,
      RopeFrequencies::Create(Parameters(RopeType::kMinimindYarn, 1e6, 16, 2048), 16, 32768));
  ExpectFrequencies(rope.inverse_frequencies(),
                    {1, 0.177827941, 0.0217406589, 0.00210877997, 6.25e-05, 1.11142463e-05,
                     1.97642354e-06, 3.51463328e-07});
  EXPECT_EQ(rope.attention_factor(), 1.0f);
}

TEST(RopeFrequenciesTest, EndsMinimindYarnRangeAtLastPair) {
  // YaRN's range would go on to dimension 6 and scale the last pair by only a quarter of the way.
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const RopeFrequencies rope,
      RopeFrequencies::Create(Parameters(RopeType::kMinimindYarn, 100, 16, 2048), 8, 32768));
  ExpectFrequencies(rope.inverse_frequencies(), {1, 0.316227766, 0.1, 0.0316227766 / 16});
}

TEST(RopeFrequenciesTest, ComputesFirstMinimindYarn) {
  RopeParameters parameters = Parameters(RopeType::kMinimindFirstYarn, 1e6, 4, 2048);
  parameters.beta_fast = 4;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies rope,
                              RopeFrequencies::Create(parameters, 16, 32768));
  ExpectFrequencies(rope.inverse_frequencies(),
                    {1, 0.164490845, 0.0279739947, 0.00483262076, 0.00025, 4.44569853e-05,
                     7.90569415e-06, 1.40585331e-06});
  EXPECT_EQ(rope.attention_factor(), 1.0f);
}

TEST(RopeFrequenciesTest, GrowsDynamicBaseOnlyPastMaxPositions) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const RopeFrequencies rope,
      RopeFrequencies::Create(Parameters(RopeType::kDynamic, 1e4, 2, 64), 16, 64));
  EXPECT_EQ(rope.length_limit(), 64);
  ExpectFrequencies(rope.inverse_frequencies(), {1, 0.316227766, 0.1, 0.0316227766, 0.01,
                                                 0.00316227766, 0.001, 0.000316227766});
  std::vector<float> within(8);
  rope.ForLength(64, absl::MakeSpan(within));
  EXPECT_EQ(absl::MakeConstSpan(within), rope.inverse_frequencies());
  std::vector<float> past(8);
  rope.ForLength(100, absl::MakeSpan(past));
  ExpectFrequencies(past, {1, 0.283945139, 0.0806248419, 0.0228930319, 0.00650036513, 0.00184574708,
                           0.000524090911, 0.000148813066});
}

TEST(RopeFrequenciesTest, SwitchesLongropeFactorsPastTheOriginalLength) {
  RopeParameters parameters = Parameters(RopeType::kLongrope, 1e4, 4, 64);
  parameters.short_factor = {1, 2};
  parameters.long_factor = {4, 5};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies rope,
                              RopeFrequencies::Create(parameters, 4, 256));
  EXPECT_EQ(rope.length_limit(), 64);
  EXPECT_FLOAT_EQ(rope.attention_factor(), 1.15470054f);  // sqrt(1 + ln 4 / ln 64)
  ExpectFrequencies(rope.inverse_frequencies(), {1, 0.005});
  std::vector<float> frequencies(2);
  rope.ForLength(64, absl::MakeSpan(frequencies));
  ExpectFrequencies(frequencies, {1, 0.005});
  rope.ForLength(65, absl::MakeSpan(frequencies));
  ExpectFrequencies(frequencies, {0.25, 0.002});
}

TEST(RopeFrequenciesTest, LeavesLongropeUnscaledWithoutFactor) {
  RopeParameters parameters = Parameters(RopeType::kLongrope, 1e4, 1, 64);
  parameters.short_factor = parameters.long_factor = {1, 1};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies rope,
                              RopeFrequencies::Create(parameters, 4, 64));
  EXPECT_EQ(rope.attention_factor(), 1.0f);
  parameters.attention_factor = 1.25;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RopeFrequencies given,
                              RopeFrequencies::Create(parameters, 4, 64));
  EXPECT_EQ(given.attention_factor(), 1.25f);
}

TEST(RopeFrequenciesTest, RotatesPromptForItsLengthAndLaterTokensForTheirs) {
  EXPECT_EQ(RopeFrequencies::RotationLength(0, 100), 100);
  EXPECT_EQ(RopeFrequencies::RotationLength(99, 100), 100);
  EXPECT_EQ(RopeFrequencies::RotationLength(100, 100), 101);
  EXPECT_EQ(RopeFrequencies::RotationLength(131, 100), 132);
}

TEST(RopeFrequenciesTest, ReturnsInvalidArgumentForOddDimension) {
  EXPECT_THAT(RopeFrequencies::Create(RopeParameters(), 15, 64),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("even head_dim of at least 2, is 15")));
}

TEST(RopeFrequenciesTest, ReturnsInvalidArgumentForDynamicWithTwoDimensions) {
  EXPECT_THAT(RopeFrequencies::Create(Parameters(RopeType::kDynamic, 1e4, 2, 64), 2, 64),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 4, is 2")));
}

TEST(ComputeRopeRowTest, WritesScaledCosineAndSine) {
  const std::vector<float> frequencies = {1.0f, 0.1f, 0.001f};
  std::vector<float> cos(3), sin(3);
  ComputeRopeRow(frequencies, 2000, 1.5f, absl::MakeSpan(cos), absl::MakeSpan(sin));
  for (int i = 0; i < 3; ++i) {
    const double angle = 2000.0f * frequencies[i];
    EXPECT_NEAR(cos[i], 1.5 * std::cos(angle), 2e-7) << i;
    EXPECT_NEAR(sin[i], 1.5 * std::sin(angle), 2e-7) << i;
  }
}

TEST(ComputeRopeRowTest, LeavesPositionZeroUnrotated) {
  const std::vector<float> frequencies = {1.0f, 0.5f};
  std::vector<float> cos(2), sin(2);
  ComputeRopeRow(frequencies, 0, 1.0f, absl::MakeSpan(cos), absl::MakeSpan(sin));
  EXPECT_EQ(cos, std::vector<float>({1.0f, 1.0f}));
  EXPECT_EQ(sin, std::vector<float>({0.0f, 0.0f}));
}

}  // namespace
}  // namespace phyllo
