#include "model/sampling/sampler.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SamplerTest : public ::testing::Test {
 protected:
  // Samples at many positions and returns how often each token came out.
  std::vector<int> Count(const std::vector<float>& logits, const SamplingParameters& parameters,
                         int64_t draws) {
    std::vector<int> counts(logits.size());
    for (int64_t position = 0; position < draws; ++position)
      ++counts[Token(logits, parameters, position)];
    return counts;
  }

  int32_t Token(const std::vector<float>& logits, const SamplingParameters& parameters,
                int64_t position = 0) {
    const absl::StatusOr<SampledToken> token =
        sampler_.Sample(logits, history_, parameters, position);
    PHYLLO_EXPECT_OK(token);
    return token.ok() ? token->token_id : -1;
  }

  Sampler sampler_{8};
  TokenHistory history_;
};

TEST_F(SamplerTest, PicksLowestIdAmongEqualsWhenGreedy) {
  EXPECT_EQ(Token({0.0f, 2.0f, 1.0f, 2.0f}, {.temperature = 0.0f}), 1);
}

TEST_F(SamplerTest, TemperatureNearZeroEqualsGreedy) {
  for (int64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(Token({0.1f, 0.2f, 0.15f}, {.temperature = 1e-5f}, position), 1);
  }
}

TEST_F(SamplerTest, HighTemperatureIsNearlyUniform) {
  // p = 1/4 +- 1 % for logits 0..2 at temperature 100; 40000 draws have standard deviation 87.
  for (const int count : Count({0.0f, 1.0f, 2.0f, 0.5f}, {.temperature = 100.0f}, 40000))
    EXPECT_NEAR(count, 10000, 100 + 6 * 87);
}

TEST_F(SamplerTest, DrawsFollowTheSoftmax) {
  const std::vector<float> probabilities = {0.1f, 0.2f, 0.3f, 0.4f};
  std::vector<float> logits;
  for (const float p : probabilities) logits.push_back(std::log(p) + 3.0f);
  const std::vector<int> counts = Count(logits, {.seed = 5}, 40000);
  for (size_t i = 0; i < counts.size(); ++i) {
    EXPECT_NEAR(counts[i], 40000 * probabilities[i],
                6 * std::sqrt(40000 * probabilities[i] * (1 - probabilities[i])));
  }
}

TEST_F(SamplerTest, TopKOneEqualsGreedy) {
  EXPECT_EQ(Count({0.0f, 1.0f, 0.9f}, {.top_k = 1}, 50)[1], 50);
}

TEST_F(SamplerTest, TopPAppliesToWhatTopKLeft) {
  // Top-2 of (0.4, 0.3, 0.2, 0.1) renormalised is (0.571, 0.429): top_p 0.55 leaves the first
  // alone. On the full distribution it would have left two.
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.2f),
                                     std::log(0.1f)};
  EXPECT_EQ(Count(logits, {.top_k = 2, .top_p = 0.55f}, 200)[0], 200);
  EXPECT_LT(Count(logits, {.top_p = 0.55f}, 200)[0], 200);
}

TEST_F(SamplerTest, MinPDropsTheTail) {
  const std::vector<int> counts =
      Count({std::log(0.5f), std::log(0.4f), std::log(0.1f)}, {.min_p = 0.5f}, 500);
  EXPECT_GT(counts[0], 0);
  EXPECT_GT(counts[1], 0);
  EXPECT_EQ(counts[2], 0);
}

TEST_F(SamplerTest, BiasComesBeforeTheRepetitionPenalty) {
  // Token 0: (1 + 3) / 4 = 1; the other order would give 1 / 4 + 3 = 3.25 and win.
  history_.AddPrompt({0});
  EXPECT_EQ(Token({1.0f, 2.0f},
                  {.temperature = 0.0f, .repetition_penalty = 4.0f, .logit_bias = {{0, 3.0f}}}),
            1);
}

TEST_F(SamplerTest, PenaltiesComeBeforeTheTemperature) {
  // exp of (1 - 1, 0) / 0.5 is even; penalising after dividing by the temperature would favour
  // token 0 by e.
  history_.AddGenerated(0);
  const std::vector<int> counts =
      Count({1.0f, 0.0f}, {.temperature = 0.5f, .presence_penalty = 1.0f}, 10000);
  EXPECT_NEAR(counts[0], 5000, 300);
}

TEST_F(SamplerTest, BansStopTokensUntilMinTokens) {
  const SamplingParameters parameters = {
      .temperature = 0.0f, .min_tokens = 2, .stop_token_ids = {1}};
  const std::vector<float> logits = {0.0f, 5.0f};
  EXPECT_EQ(Token(logits, parameters), 0);
  history_.AddGenerated(0);
  EXPECT_EQ(Token(logits, parameters), 0);
  history_.AddGenerated(0);
  EXPECT_EQ(Token(logits, parameters), 1);
}

TEST_F(SamplerTest, SamplesAllowedTokensOnly) {
  const std::vector<int> counts =
      Count({9.0f, 0.0f, 0.0f, 9.0f}, {.allowed_token_ids = {1, 2}}, 100);
  EXPECT_EQ(counts[1] + counts[2], 100);
}

TEST_F(SamplerTest, AppliesDry) {
  for (const int32_t id : {0, 1, 2, 0, 1}) history_.AddGenerated(id);
  const std::vector<float> logits = {0.0f, 0.0f, 3.0f, 2.5f};
  EXPECT_EQ(Token(logits, {.temperature = 0.0f}), 2);
  EXPECT_EQ(Token(logits, {.temperature = 0.0f, .dry = DryParameters{.multiplier = 1.0f}}), 3);
}

TEST_F(SamplerTest, RepeatsNoNgram) {
  for (const int32_t id : {0, 1, 2, 0, 1}) history_.AddGenerated(id);
  const std::vector<float> logits = {0.0f, 0.0f, 3.0f, 2.5f};
  EXPECT_EQ(Token(logits, {.temperature = 0.0f, .no_repeat_ngram_size = 3}), 3);
  EXPECT_EQ(Token(logits, {.temperature = 0.0f, .no_repeat_ngram_size = 4}), 2);
}

TEST_F(SamplerTest, CompletesNoBannedSequence) {
  history_.AddPrompt({5});
  const SamplingParameters parameters = {.temperature = 0.0f, .banned_sequences = {{5, 1}, {4, 2}}};
  EXPECT_EQ(Token({0.0f, 3.0f, 2.0f}, parameters), 2);
}

TEST_F(SamplerTest, LimitsPenaltiesToTheWindow) {
  TokenHistory history(/*penalty_window=*/1);
  history.AddGenerated(1);
  history.AddGenerated(0);
  const SamplingParameters parameters = {
      .temperature = 0.0f, .presence_penalty = 5.0f, .penalty_window = 1};
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const SampledToken token,
      sampler_.Sample(std::vector<float>{3.0f, 2.0f}, history, parameters, 2));
  EXPECT_EQ(token.token_id, 1);
}

std::vector<int32_t> Ids(absl::Span<const Candidate> candidates) {
  std::vector<int32_t> ids;
  for (const Candidate& candidate : candidates) ids.push_back(candidate.token_id);
  return ids;
}

// sigma of 0, 1, 2, 3 is sqrt(1.25) = 1.118, after top_k too: with that of 2 and 3 alone, 0.5, only
// 3 would stay.
TEST_F(SamplerTest, TakesSigmaOfTheWholeVocabulary) {
  const std::vector<float> logits = {0.0f, 1.0f, 2.0f, 3.0f};
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        const absl::Span<const Candidate> candidates,
        sampler_.SelectCandidates(
            logits, history_, {.temperature = temperature, .top_k = 2, .top_n_sigma = 1.0f}, 0));
    EXPECT_THAT(Ids(candidates), ElementsAre(2, 3));
  }
}

TEST_F(SamplerTest, ActsAlwaysAtXtcProbabilityOneAndNeverAtZero) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  for (int64_t position = 0; position < 200; ++position) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        absl::Span<const Candidate> candidates,
        sampler_.SelectCandidates(logits, history_, {.xtc = XtcParameters{1.0f, 0.25f}}, position));
    EXPECT_THAT(Ids(candidates), ElementsAre(1, 2));
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        candidates,
        sampler_.SelectCandidates(logits, history_, {.xtc = XtcParameters{0.0f, 0.25f}}, position));
    EXPECT_THAT(Ids(candidates), ElementsAre(0, 1, 2));
  }
}

TEST_F(SamplerTest, SameSeedAndPositionGiveTheSameToken) {
  const std::vector<float> logits(8, 0.0f);
  Sampler other(8);
  for (int64_t position = 0; position < 50; ++position) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const SampledToken again,
                                other.Sample(logits, history_, {.seed = 9}, position));
    EXPECT_EQ(Token(logits, {.seed = 9}, position), again.token_id);
  }
}

TEST_F(SamplerTest, SeedsAndChoicesDiffer) {
  const std::vector<float> logits(8, 0.0f);
  int same_seed = 0, same_choice = 0;
  for (int64_t position = 0; position < 800; ++position) {
    const int32_t token = Token(logits, {.seed = 1}, position);
    same_seed += token == Token(logits, {.seed = 2}, position);
    same_choice += token == Token(logits, {.seed = 1, .choice = 1}, position);
  }
  EXPECT_NEAR(same_seed, 100, 57);  // one in eight, standard deviation 9.4
  EXPECT_NEAR(same_choice, 100, 57);
}

TEST_F(SamplerTest, ReportsLogprobAndRankOfTheRawLogits) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.25f), std::log(0.125f),
                                     std::log(0.125f)};
  const SamplingParameters parameters = {
      .temperature = 0.0f, .logit_bias = {{2, 10.0f}}, .top_logprobs = 2};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const SampledToken token,
                              sampler_.Sample(logits, history_, parameters, 0));
  EXPECT_EQ(token.token_id, 2);
  EXPECT_NEAR(token.logprob, std::log(0.125), 1e-6);
  EXPECT_EQ(token.rank, 3);
  ASSERT_THAT(token.top_logprobs, SizeIs(2));
  EXPECT_EQ(token.top_logprobs[0].token_id, 0);
  EXPECT_NEAR(token.top_logprobs[1].logprob, std::log(0.25), 1e-6);
}

TEST_F(SamplerTest, ReportsNothingUnlessAsked) {
  const std::vector<float> logits = {0.0f, 1.0f, 2.0f};
  const SamplingParameters parameters = {.temperature = 0.0f, .logit_bias = {{0, 10.0f}}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const SampledToken token,
                              sampler_.Sample(logits, history_, parameters, 0));
  EXPECT_EQ(token.token_id, 0);
  EXPECT_EQ(token.logprob, 0.0f);
  EXPECT_EQ(token.rank, 1);
}

TEST_F(SamplerTest, TakesTheLargestLogitOnlyIfNothingElseIsWanted) {
  EXPECT_TRUE(TakesLargest({.temperature = 0.0f}, history_));
  EXPECT_FALSE(TakesLargest({}, history_));
  EXPECT_FALSE(TakesLargest({.temperature = 0.0f, .logprobs = true}, history_));
  EXPECT_FALSE(TakesLargest({.temperature = 0.0f, .top_logprobs = 1}, history_));
  EXPECT_FALSE(TakesLargest({.temperature = 0.0f, .logprob_token_ids = {1}}, history_));
  EXPECT_FALSE(TakesLargest({.temperature = 0.0f, .repetition_penalty = 1.1f}, history_));
  const SamplingParameters with_min_tokens = {
      .temperature = 0.0f, .min_tokens = 1, .stop_token_ids = {2}};
  EXPECT_FALSE(TakesLargest(with_min_tokens, history_));
  history_.AddGenerated(3);
  EXPECT_TRUE(TakesLargest(with_min_tokens, history_));
}

TEST_F(SamplerTest, ReturnsInternalForTheLargestOfLogitsThatAreNotFinite) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const SampledToken token,
                              TakeLargest({.token_id = 3, .logit = 1.0f}));
  EXPECT_EQ(token.token_id, 3);
  EXPECT_THAT(TakeLargest({.token_id = 3, .logit = 1.0f, .finite = false}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
}

TEST_F(SamplerTest, ReportsChosenIdsAfterTheMostProbable) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.25f), std::log(0.25f)};
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const SampledToken token,
      DescribeToken(logits, 2, {.top_logprobs = 1, .logprob_token_ids = {1}}));
  EXPECT_EQ(token.token_id, 2);
  ASSERT_THAT(token.top_logprobs, SizeIs(2));
  EXPECT_EQ(token.top_logprobs[0].token_id, 0);
  EXPECT_EQ(token.top_logprobs[1].token_id, 1);
  EXPECT_NEAR(token.top_logprobs[1].logprob, std::log(0.25), 1e-6);
  EXPECT_EQ(token.top_logprobs[0].rank, 1);
  EXPECT_EQ(token.top_logprobs[1].rank, 2);
}

TEST_F(SamplerTest, ReportsAtMostTheVocabulary) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const SampledToken token,
      sampler_.Sample(std::vector<float>{0.0f, 1.0f}, history_, {.top_logprobs = 20}, 0));
  EXPECT_THAT(token.top_logprobs, SizeIs(2));
}

TEST_F(SamplerTest, ReturnsInternalWhenALogitIsNan) {
  const std::vector<float> logits = {0.0f, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(sampler_.Sample(logits, history_, {.temperature = 0.0f}, 0),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("logit 1 of 2 is nan")));
}

TEST_F(SamplerTest, ReturnsInvalidArgumentWhenNothingMayBeSampled) {
  const SamplingParameters parameters = {
      .allowed_token_ids = {0}, .min_tokens = 1, .stop_token_ids = {0}};
  EXPECT_THAT(sampler_.Sample(std::vector<float>{0.0f, 1.0f}, history_, parameters, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leave no token to sample")));
}

}  // namespace
}  // namespace phyllo
