#include "tests/benchmark/quality/logits_comparison.h"

#include <cmath>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

std::vector<float> Logs(std::vector<float> probabilities) {
  for (float& p : probabilities) p = std::log(p);
  return probabilities;
}

TEST(LogitsComparisonTest, IsZeroForEqualDistributions) {
  LogitsComparison comparison;
  comparison.Add({1.0f, 2.0f, 3.0f}, {11.0f, 12.0f, 13.0f}, std::nullopt);
  EXPECT_EQ(comparison.position_count(), 1);
  EXPECT_EQ(comparison.top1_agreement(), 1);
  EXPECT_NEAR(comparison.mean_kl(), 0, 1e-12);
  EXPECT_FALSE(comparison.perplexity().has_value());
}

TEST(LogitsComparisonTest, GivesTheDivergenceOfTwoDistributions) {
  LogitsComparison comparison;
  comparison.Add(Logs({0.5f, 0.5f}), Logs({0.25f, 0.75f}), std::nullopt);
  comparison.Add(Logs({0.5f, 0.5f}), Logs({0.5f, 0.5f}), std::nullopt);
  const double kl = 0.5 * std::log(2.0) + 0.5 * std::log(0.5 / 0.75);
  EXPECT_NEAR(comparison.max_kl(), kl, 1e-7);
  EXPECT_NEAR(comparison.mean_kl(), kl / 2, 1e-7);
}

TEST(LogitsComparisonTest, CountsPositionsWithTheSameLargestLogit) {
  LogitsComparison comparison;
  comparison.Add({0.0f, 1.0f}, {0.0f, 9.0f}, std::nullopt);
  comparison.Add({0.0f, 1.0f}, {2.0f, 1.0f}, std::nullopt);
  EXPECT_EQ(comparison.top1_agreement(), 0.5);
}

TEST(LogitsComparisonTest, GivesThePerplexityOfWhatTheTextHasNext) {
  LogitsComparison comparison;
  comparison.Add(Logs({0.5f, 0.5f}), Logs({0.25f, 0.75f}), 0);
  comparison.Add(Logs({0.5f, 0.5f}), Logs({0.25f, 0.75f}), 0);
  comparison.Add(Logs({0.5f, 0.5f}), Logs({0.25f, 0.75f}), std::nullopt);
  EXPECT_NEAR(*comparison.reference_perplexity(), 2, 1e-6);
  EXPECT_NEAR(*comparison.perplexity(), 4, 1e-6);
}

TEST(LogitsComparisonTest, ShowsThatLogitsAreNotFinite) {
  LogitsComparison comparison;
  comparison.Add({1.0f, 2.0f}, {NAN, 2.0f}, 1);
  EXPECT_EQ(comparison.top1_agreement(), 0);
  EXPECT_TRUE(std::isnan(comparison.mean_kl()));
  EXPECT_TRUE(std::isnan(comparison.max_kl()));
  EXPECT_TRUE(std::isnan(*comparison.perplexity()));
}

}  // namespace
}  // namespace phyllo
