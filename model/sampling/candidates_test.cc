// Expected values are written out from the definitions of transformers' logits warpers of the same
// names, and of llama.cpp's samplers where transformers has none.
#include "model/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/sampling/logits_processors.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<Candidate> Weighted(const std::vector<float>& weights) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < weights.size(); ++i)
    candidates.push_back({static_cast<int32_t>(i), weights[i]});
  return candidates;
}

std::vector<int32_t> Ids(const std::vector<Candidate>& candidates) {
  std::vector<int32_t> ids;
  for (const Candidate& candidate : candidates) ids.push_back(candidate.token_id);
  return ids;
}

std::vector<int32_t> TopKIds(const std::vector<float>& logits, int64_t top_k,
                             float temperature = 1.0f) {
  std::vector<float> scratch;
  std::vector<Candidate> candidates;
  SelectTopK(logits, temperature, top_k, scratch, candidates);
  return Ids(candidates);
}

TEST(SelectTopKTest, KeepsTheHighest) {
  EXPECT_THAT(TopKIds({0.1f, 3.0f, -1.0f, 2.0f, 2.5f}, 3), ElementsAre(1, 3, 4));
}

TEST(SelectTopKTest, KeepsAllEqualsOfTheLast) {
  EXPECT_THAT(TopKIds({1.0f, 2.0f, 1.0f, 0.0f, 1.0f}, 2), ElementsAre(0, 1, 2, 4));
}

TEST(SelectTopKTest, KeepsAllWhenAtLeastTheVocabulary) {
  EXPECT_THAT(TopKIds({1.0f, 2.0f}, 2), ElementsAre(0, 1));
  EXPECT_THAT(TopKIds({1.0f, 2.0f}, 100), ElementsAre(0, 1));
}

TEST(SelectTopKTest, NeverKeepsBannedTokens) {
  EXPECT_THAT(TopKIds({kBannedLogit, 2.0f, kBannedLogit}, 2), ElementsAre(1));
  EXPECT_THAT(TopKIds({kBannedLogit, 2.0f, kBannedLogit}, 100), ElementsAre(1));
}

TEST(SelectTopKTest, WeighsByTemperature) {
  std::vector<float> scratch;
  std::vector<Candidate> candidates;
  SelectTopK(std::vector<float>{0.0f, 1.0f, 3.0f}, 2.0f, 3, scratch, candidates);
  ASSERT_EQ(candidates.size(), 3u);
  EXPECT_NEAR(candidates[0].weight, std::exp(-1.5), 2e-7);
  EXPECT_NEAR(candidates[1].weight, std::exp(-1.0), 2e-7);
  EXPECT_EQ(candidates[2].weight, 1.0f);
}

TEST(SelectTopKTest, StaysFiniteAtTheSmallestTemperature) {
  std::vector<float> scratch;
  std::vector<Candidate> candidates;
  SelectTopK(std::vector<float>{-50.0f, 60.0f, 61.0f}, 1e-38f, 3, scratch, candidates);
  EXPECT_EQ(candidates[0].weight, 0.0f);
  EXPECT_EQ(candidates[1].weight, 0.0f);
  EXPECT_EQ(candidates[2].weight, 1.0f);
}

// Distributions of transformers' own test of TopPLogitsWarper.
TEST(SelectTopPTest, KeepsTheSmallestSetThatReachesTheMass) {
  std::vector<Candidate> candidates = Weighted({0.3f, 0.1f, 0.1f, 0.5f});
  SelectTopP(0.79f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(0, 3));
  candidates = Weighted({0.15f, 0.3f, 0.3f, 0.25f});
  SelectTopP(0.79f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(1, 2, 3));
}

TEST(SelectTopPTest, KeepsOneEvenWhenItExceedsTheMass) {
  std::vector<Candidate> candidates = Weighted({0.1f, 0.9f});
  SelectTopP(1e-6f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(1));
}

TEST(SelectTopPTest, PrefersLowerIdsAmongEquals) {
  std::vector<Candidate> candidates = Weighted({1.0f, 1.0f, 1.0f, 1.0f});
  SelectTopP(0.5f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(0, 1));
}

TEST(SelectTopPTest, KeepsAllAtOne) {
  std::vector<Candidate> candidates = Weighted({1.0f, 0.0f});
  SelectTopP(1.0f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(0, 1));
}

TEST(SelectTopPTest, EqualsSortAndCumulateOnRandomWeights) {
  std::mt19937 generator(11);
  for (const double spread : {0.0, 0.01, 1.0, 6.0}) {
    std::normal_distribution<double> normal(0.0, spread);
    std::vector<float> weights(5000);
    for (float& weight : weights) weight = static_cast<float>(std::exp(normal(generator) - 30.0));
    std::vector<int32_t> order(weights.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return weights[a] > weights[b]; });
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (const float top_p : {0.01f, 0.5f, 0.9f, 0.999f}) {
      std::vector<int32_t> expected;
      double before = 0.0;
      for (const int32_t id : order) {
        if (before >= static_cast<double>(top_p) * total) break;
        expected.push_back(id);
        before += weights[id];
      }
      std::sort(expected.begin(), expected.end());
      std::vector<Candidate> candidates = Weighted(weights);
      SelectTopP(top_p, candidates);
      EXPECT_THAT(Ids(candidates), ElementsAreArray(expected)) << spread << " " << top_p;
    }
  }
}

// Distributions of transformers' own test of MinPLogitsWarper.
TEST(SelectMinPTest, DropsTokensBelowTheFractionOfTheMaximum) {
  std::vector<Candidate> candidates = Weighted({0.9f, 0.0274f, 0.047f, 0.0274f});
  SelectMinP(0.1f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(0));
  candidates = Weighted({0.15f, 0.3f, 0.3f, 0.25f});
  SelectMinP(0.1f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(0, 1, 2, 3));
}

TEST(SelectMinPTest, KeepsTheMostProbableAtOne) {
  std::vector<Candidate> candidates = Weighted({0.5f, 1.0f, 1.0f});
  SelectMinP(1.0f, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(1, 2));
}

std::vector<int32_t> TypicalIds(const std::vector<float>& weights, float typical_p) {
  std::vector<Candidate> candidates = Weighted(weights);
  std::vector<float> scratch;
  SelectTypicalP(typical_p, scratch, candidates);
  return Ids(candidates);
}

// Distributions of transformers' own test of TypicalLogitsWarper. The entropy of the second
// is 1.332; -log 0.2 = 1.609 is nearer to it than -log 0.4 = 0.916.
TEST(SelectTypicalPTest, KeepsWhatIsNearestToTheEntropy) {
  EXPECT_THAT(TypicalIds({0.97f, 0.01f, 0.01f, 0.01f}, 0.5f), ElementsAre(0));
  EXPECT_THAT(TypicalIds({0.4f, 0.2f, 0.2f, 0.2f}, 0.5f), ElementsAre(1, 2, 3));
}

TEST(SelectTypicalPTest, KeepsAllAsNearAsTheLast) {
  EXPECT_THAT(TypicalIds({0.4f, 0.2f, 0.2f, 0.2f}, 0.1f), ElementsAre(1, 2, 3));
}

TEST(SelectTypicalPTest, AddsTheNextNearestUntilTheMassIsReached) {
  EXPECT_THAT(TypicalIds({0.4f, 0.2f, 0.2f, 0.2f}, 0.7f), ElementsAre(0, 1, 2, 3));
}

TEST(SelectTypicalPTest, IgnoresWhatWeighsNothing) {
  EXPECT_THAT(TypicalIds({0.0f, 0.4f, 0.2f, 0.2f, 0.2f, 0.0f}, 0.5f), ElementsAre(2, 3, 4));
  EXPECT_THAT(TypicalIds({0.0f, 1.0f}, 0.999f), ElementsAre(1));
}

TEST(SelectTypicalPTest, EqualsSortAndCumulateOnRandomWeights) {
  std::mt19937 generator(13);
  std::normal_distribution<double> normal(0.0, 3.0);
  std::vector<float> weights(3000);
  for (float& weight : weights) weight = static_cast<float>(std::exp(normal(generator) - 15.0));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double entropy = 0.0;
  for (const float weight : weights) entropy -= weight / total * std::log(weight / total);
  std::vector<double> distance;
  for (const float weight : weights)
    distance.push_back(std::abs(-std::log(weight / total) - entropy));
  std::vector<int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return distance[a] < distance[b]; });
  for (const float typical_p : {0.05f, 0.5f, 0.95f}) {
    std::vector<int32_t> expected;
    double before = 0.0;
    for (const int32_t id : order) {
      if (before >= typical_p * total) break;
      expected.push_back(id);
      before += weights[id];
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_THAT(TypicalIds(weights, typical_p), ElementsAreArray(expected)) << typical_p;
  }
}

// Mean 1, squares 1 + 1 + 1 + 9.
TEST(StandardDeviationTest, IsThatOfTheTokensThatAreNotBanned) {
  EXPECT_NEAR(StandardDeviation({0.0f, 0.0f, kBannedLogit, 0.0f, 4.0f}), std::sqrt(3.0), 1e-12);
  EXPECT_EQ(StandardDeviation({kBannedLogit, 4.0f}), 0.0);
}

TEST(SelectTopNSigmaTest, KeepsLogitsWithinTheDeviationsOfTheLargest) {
  // Logits 0, 1, 4 at temperature 1: the bound is 4 - 2 * 1.6 = 0.8.
  std::vector<Candidate> candidates = Weighted({std::exp(-4.0f), std::exp(-3.0f), std::exp(0.0f)});
  SelectTopNSigma(2.0f, 1.6, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(1, 2));
  SelectTopNSigma(1.0f, 1.6, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(2));
}

TEST(SelectTopNSigmaTest, KeepsEqualsWhenNothingDeviates) {
  std::vector<Candidate> candidates = Weighted({1.0f, 1.0f});
  SelectTopNSigma(1.0f, 0.0, candidates);
  EXPECT_THAT(Ids(candidates), ElementsAre(0, 1));
}

std::vector<int32_t> XtcIds(const std::vector<float>& weights, float threshold) {
  std::vector<Candidate> candidates = Weighted(weights);
  SelectXtc(threshold, candidates);
  return Ids(candidates);
}

TEST(SelectXtcTest, KeepsTheLeastOfTheTopChoices) {
  EXPECT_THAT(XtcIds({0.4f, 0.3f, 0.2f, 0.1f}, 0.19f), ElementsAre(2, 3));
  EXPECT_THAT(XtcIds({0.1f, 0.2f, 0.3f, 0.4f}, 0.25f), ElementsAre(0, 1, 2));
}

TEST(SelectXtcTest, KeepsAllWhenLessThanTwoAreTopChoices) {
  EXPECT_THAT(XtcIds({0.4f, 0.3f, 0.2f, 0.1f}, 0.35f), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(XtcIds({0.4f, 0.3f, 0.2f, 0.1f}, 0.5f), ElementsAre(0, 1, 2, 3));
}

TEST(SelectXtcTest, KeepsTheHighestIdAmongEquals) {
  EXPECT_THAT(XtcIds({0.3f, 0.3f, 0.3f, 0.1f}, 0.25f), ElementsAre(2, 3));
}

TEST(DrawTest, InvertsTheCumulatedWeights) {
  const std::vector<Candidate> candidates = {{3, 1.0f}, {5, 2.0f}, {8, 1.0f}};
  EXPECT_EQ(Draw(candidates, 0.0), 3);
  EXPECT_EQ(Draw(candidates, 0.2499), 3);
  EXPECT_EQ(Draw(candidates, 0.25), 5);
  EXPECT_EQ(Draw(candidates, 0.7499), 5);
  EXPECT_EQ(Draw(candidates, 0.75), 8);
  EXPECT_EQ(Draw(candidates, std::nextafter(1.0, 0.0)), 8);
}

TEST(DrawTest, NeverReturnsWeightZero) {
  const std::vector<Candidate> candidates = {{1, 0.0f}, {2, 1.0f}, {3, 0.0f}};
  EXPECT_EQ(Draw(candidates, 0.0), 2);
  EXPECT_EQ(Draw(candidates, std::nextafter(1.0, 0.0)), 2);
}

}  // namespace
}  // namespace phyllo
