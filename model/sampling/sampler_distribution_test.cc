// What is drawn, against what should be, by Pearson's chi-square test. The seeds are fixed, so a
// test passes always or never; a right sampler would fail it for one seed in 10^9.
#include <cmath>
#include <map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/sampling/sampler.h"

namespace phyllo {
namespace {

constexpr int64_t kDrawCount = 50000;

// The value that chi-square exceeds with probability 10^-9, by degrees of freedom.
double CriticalValue(int64_t degrees_of_freedom) {
  static const auto* const kValues = new std::map<int64_t, double>{
      {2, 41.4465},
      {3, 44.8413},
      {7, 55.8748},
      {63, 155.0743},
  };
  return kValues->at(degrees_of_freedom);
}

// Sum of (observed - expected)^2 / expected over the cells that can occur; what cannot must not.
void ExpectDistribution(const std::vector<int64_t>& observed,
                        const std::vector<double>& probabilities) {
  int64_t total = 0;
  for (const int64_t count : observed) total += count;
  double statistic = 0.0;
  int64_t cell_count = 0;
  for (size_t i = 0; i < observed.size(); ++i) {
    if (probabilities[i] == 0.0) {
      EXPECT_EQ(observed[i], 0) << "cell " << i;
      continue;
    }
    const double expected = probabilities[i] * static_cast<double>(total);
    const double difference = static_cast<double>(observed[i]) - expected;
    statistic += difference * difference / expected;
    ++cell_count;
  }
  EXPECT_LT(statistic, CriticalValue(cell_count - 1));
}

std::vector<double> Normalized(std::vector<double> weights) {
  double total = 0.0;
  for (const double weight : weights) total += weight;
  for (double& weight : weights) weight /= total;
  return weights;
}

class SamplerDistributionTest : public ::testing::Test {
 protected:
  // e^l proportional to 1, 2, ..., 8.
  SamplerDistributionTest() {
    for (int i = 1; i <= 8; ++i) logits_.push_back(std::log(static_cast<float>(i)));
  }

  int32_t Draw(const SamplingParameters& parameters, int64_t position) {
    const absl::StatusOr<SampledToken> token =
        sampler_.Sample(logits_, history_, parameters, position);
    PHYLLO_EXPECT_OK(token);
    return token.ok() ? token->token_id : 0;
  }

  std::vector<int64_t> Count(const SamplingParameters& parameters) {
    std::vector<int64_t> counts(logits_.size());
    for (int64_t position = 0; position < kDrawCount; ++position)
      ++counts[Draw(parameters, position)];
    return counts;
  }

  std::vector<float> logits_;
  Sampler sampler_{8};
  TokenHistory history_;
};

TEST_F(SamplerDistributionTest, DrawsFromTheSoftmax) {
  ExpectDistribution(Count({.seed = 1}), Normalized({1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(SamplerDistributionTest, DrawsFromTheSoftmaxOverSeeds) {
  std::vector<int64_t> counts(8);
  for (uint64_t seed = 0; seed < kDrawCount; ++seed) ++counts[Draw({.seed = seed}, 3)];
  ExpectDistribution(counts, Normalized({1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(SamplerDistributionTest, SquaresTheWeightsAtHalfTheTemperature) {
  ExpectDistribution(Count({.temperature = 0.5f, .seed = 2}),
                     Normalized({1, 4, 9, 16, 25, 36, 49, 64}));
}

TEST_F(SamplerDistributionTest, RenormalisesAfterTopK) {
  ExpectDistribution(Count({.top_k = 3, .seed = 3}), Normalized({0, 0, 0, 0, 0, 6, 7, 8}));
}

// 8 + 7 of 36 are less than a half, 8 + 7 + 6 more.
TEST_F(SamplerDistributionTest, RenormalisesAfterTopP) {
  ExpectDistribution(Count({.top_p = 0.5f, .seed = 4}), Normalized({0, 0, 0, 0, 0, 6, 7, 8}));
}

TEST_F(SamplerDistributionTest, RenormalisesAfterMinP) {
  ExpectDistribution(Count({.min_p = 0.6f, .seed = 5}), Normalized({0, 0, 0, 0, 5, 6, 7, 8}));
}

// XTC acts on 3 of 10 tokens; then 8 and 7 of 36, at least 0.18, leave the 7.
TEST_F(SamplerDistributionTest, MixesWithAndWithoutXtc) {
  const std::vector<double> without = Normalized({1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<double> with = Normalized({1, 2, 3, 4, 5, 6, 7, 0});
  std::vector<double> expected;
  for (size_t i = 0; i < without.size(); ++i) expected.push_back(0.7 * without[i] + 0.3 * with[i]);
  ExpectDistribution(
      Count({.xtc = XtcParameters{.probability = 0.3f, .threshold = 0.18f}, .seed = 6}), expected);
}

// The tokens of neighbouring positions, and of neighbouring choices, as pairs.
TEST_F(SamplerDistributionTest, DrawsNeighboursIndependently) {
  const std::vector<double> single = Normalized({1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<double> expected;
  for (const double a : single) {
    for (const double b : single) expected.push_back(a * b);
  }
  std::vector<int64_t> positions(64), choices(64);
  for (int64_t i = 0; i < kDrawCount; ++i) {
    const int32_t first = Draw({.seed = 7}, 2 * i);
    ++positions[first * 8 + Draw({.seed = 7}, 2 * i + 1)];
    ++choices[first * 8 + Draw({.seed = 7, .choice = 1}, 2 * i)];
  }
  ExpectDistribution(positions, expected);
  ExpectDistribution(choices, expected);
}

}  // namespace
}  // namespace phyllo
