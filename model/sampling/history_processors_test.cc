// Expected values are written out from the definitions of transformers' logits processors of the
// same names, and of llama.cpp's DRY.
#include "model/sampling/history_processors.h"

#include <cmath>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/sampling/logits_processors.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatEq;

TokenHistory History(const std::vector<int32_t>& prompt, const std::vector<int32_t>& generated) {
  TokenHistory history;
  history.AddPrompt(prompt);
  for (const int32_t id : generated) history.AddGenerated(id);
  return history;
}

TEST(ApplyRepetitionPenaltyTest, DividesPositiveAndMultipliesNegativeLogitsOncePerToken) {
  std::vector<float> logits = {2.0f, -2.0f, 4.0f, -4.0f, 0.0f};
  ApplyRepetitionPenalty(History({0, 1, 0}, {3, 3, 4}), 2.0f, absl::MakeSpan(logits));
  EXPECT_THAT(logits, ElementsAre(1.0f, -4.0f, 4.0f, -8.0f, 0.0f));
}

TEST(ApplyFrequencyAndPresencePenaltyTest, CountsTheOutputOnly) {
  std::vector<float> logits = {1.0f, 1.0f, 1.0f};
  ApplyFrequencyAndPresencePenalty(History({0, 1}, {1, 2, 2}), 0.25f, 0.5f, absl::MakeSpan(logits));
  EXPECT_THAT(logits, ElementsAre(1.0f, 0.25f, 0.0f));
}

TEST(ApplyRepetitionPenaltyTest, SeesTheWindowOnly) {
  TokenHistory history(/*penalty_window=*/2);
  history.AddPrompt({0, 1});
  history.AddGenerated(2);
  std::vector<float> logits = {2.0f, 2.0f, 2.0f};
  ApplyRepetitionPenalty(history, 2.0f, absl::MakeSpan(logits));
  EXPECT_THAT(logits, ElementsAre(2.0f, 1.0f, 1.0f));
}

TEST(ApplyRepetitionPenaltyTest, PassesOverTokensWithoutId) {
  std::vector<float> logits = {2.0f, 2.0f};
  ApplyRepetitionPenalty(History({kNoTokenId, kNoTokenId, 1}, {}), 2.0f, absl::MakeSpan(logits));
  EXPECT_THAT(logits, ElementsAre(2.0f, 1.0f));
}

TEST(ApplyFrequencyAndPresencePenaltyTest, CountsWithinTheWindow) {
  TokenHistory history(/*penalty_window=*/3);
  for (const int32_t id : {0, 1, 1, 0, 1}) history.AddGenerated(id);
  std::vector<float> logits = {0.0f, 0.0f};
  ApplyFrequencyAndPresencePenalty(history, 1.0f, 0.0f, absl::MakeSpan(logits));
  EXPECT_THAT(logits, ElementsAre(-1.0f, -2.0f));
}

// The example of llama.cpp's comment, there with the count at the token before: a b c c b c y a b
// c.
TEST(MeasureRepeatsTest, MeasuresWhatEachTokenContinued) {
  std::vector<int32_t> lengths;
  MeasureRepeats({1, 2, 3, 3, 2, 3, 9, 1, 2, 3}, lengths);
  EXPECT_THAT(lengths, ElementsAre(0, 0, 0, 3, 1, 0, 2, 0, 0, 0));
}

TEST(MeasureRepeatsTest, MatchesNoTokenWithoutId) {
  std::vector<int32_t> lengths;
  MeasureRepeats({5, kNoTokenId, 7, 5, kNoTokenId, 7}, lengths);
  EXPECT_THAT(lengths, ElementsAre(0, 0, 0, 1, 0, 0));
}

TEST(MeasureRepeatsTest, EqualsComparisonOfEachPairOnRandomTokens) {
  std::mt19937 generator(5);
  for (const int32_t vocab_size : {1, 2, 3, 10}) {
    for (int64_t size = 0; size < 60; ++size) {
      std::vector<int32_t> token_ids(size);
      for (int32_t& id : token_ids) {
        id = static_cast<int32_t>(generator() % vocab_size);
        if (generator() % 20 == 0) id = kNoTokenId;
      }
      std::vector<int32_t> expected(size), lengths;
      for (int64_t i = 0; i < size; ++i) {
        int64_t m = 0;
        while (m < i && token_ids[i - 1 - m] == token_ids[size - 1 - m] &&
               token_ids[i - 1 - m] != kNoTokenId)
          ++m;
        expected[i] = static_cast<int32_t>(m);
      }
      MeasureRepeats(token_ids, lengths);
      EXPECT_THAT(lengths, ElementsAreArray(expected));
    }
  }
}

std::vector<float> Dry(const std::vector<int32_t>& token_ids, const DryParameters& dry,
                       int64_t vocab_size) {
  std::vector<float> logits(vocab_size);
  HistoryScratch scratch;
  ApplyDry(token_ids, dry, scratch, absl::MakeSpan(logits));
  return logits;
}

// a b c c b c y a b c: c would make a repetition of 3 + 1 tokens, b of 1 + 1, y of 2 + 1.
TEST(ApplyDryTest, PenalisesContinuationsByTheLengthOfTheRepetition) {
  const std::vector<float> logits = Dry({0, 1, 2, 2, 1, 2, 3, 0, 1, 2},
                                        {.multiplier = 0.5f, .base = 2.0f, .allowed_length = 1}, 4);
  // b: 0.5 * 2^(1 - 1), c: 0.5 * 2^(3 - 1), y: 0.5 * 2^(2 - 1).
  EXPECT_THAT(logits, ElementsAre(0.0f, -0.5f, -2.0f, -1.0f));
}

TEST(ApplyDryTest, AllowsRepetitionsUpToTheAllowedLength) {
  const std::vector<float> logits = Dry({0, 1, 2, 2, 1, 2, 3, 0, 1, 2},
                                        {.multiplier = 0.5f, .base = 2.0f, .allowed_length = 3}, 4);
  EXPECT_THAT(logits, ElementsAre(0.0f, 0.0f, -0.5f, 0.0f));
}

TEST(ApplyDryTest, TakesTheLongestOfSeveralRepetitions) {
  // 1 followed "7 0" once and "0" once; the sequence ends with "7 0".
  const std::vector<float> logits =
      Dry({7, 0, 1, 5, 0, 1, 6, 7, 0}, {.multiplier = 1.0f, .base = 3.0f, .allowed_length = 1}, 8);
  EXPECT_THAT(logits[1], FloatEq(-3.0f));
}

TEST(ApplyDryTest, DoesNotMatchOverABreaker) {
  // Without the breaker 9 the repetition before 2 is "9 0 1" long.
  const DryParameters dry = {
      .multiplier = 1.0f, .base = 2.0f, .allowed_length = 1, .breaker_token_ids = {9}};
  EXPECT_THAT(Dry({9, 0, 1, 2, 9, 0, 1}, dry, 10)[2], FloatEq(-2.0f));
}

TEST(ApplyDryTest, NeverPenalisesABreaker) {
  const DryParameters dry = {
      .multiplier = 1.0f, .base = 2.0f, .allowed_length = 1, .breaker_token_ids = {2}};
  EXPECT_THAT(Dry({0, 1, 2, 0, 1}, dry, 3), ElementsAre(0.0f, 0.0f, 0.0f));
}

TEST(ApplyDryTest, StaysFiniteInALongRepetition) {
  const std::vector<float> logits = Dry(std::vector<int32_t>(5000, 1), {.multiplier = 1.0f}, 2);
  EXPECT_TRUE(std::isfinite(logits[1]));
  EXPECT_LT(logits[1], -1e38f);
}

std::vector<int32_t> Banned(const std::vector<float>& logits) {
  std::vector<int32_t> banned;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kBannedLogit) banned.push_back(static_cast<int32_t>(i));
  }
  return banned;
}

std::vector<int32_t> NgramBanned(const std::vector<int32_t>& token_ids, int64_t size) {
  std::vector<float> logits(10);
  HistoryScratch scratch;
  BanRepeatedNgrams(token_ids, size, scratch, absl::MakeSpan(logits));
  return Banned(logits);
}

TEST(BanRepeatedNgramsTest, BansWhatWouldCompleteAnEarlierNgram) {
  EXPECT_THAT(NgramBanned({1, 2, 3, 1, 2, 4, 1, 2}, 3), ElementsAre(3, 4));
  EXPECT_THAT(NgramBanned({1, 2, 3, 1, 2, 4, 1, 2}, 2), ElementsAre(3, 4));
  EXPECT_THAT(NgramBanned({1, 2, 3, 1, 2, 4, 1, 2}, 4), ElementsAre());
}

TEST(BanRepeatedNgramsTest, BansEveryTokenThatOccurredWhenTheSizeIsOne) {
  EXPECT_THAT(NgramBanned({5, 1, 5}, 1), ElementsAre(1, 5));
}

TEST(BanRepeatedNgramsTest, BansNothingInAHistoryThatIsShorter) {
  EXPECT_THAT(NgramBanned({1}, 2), ElementsAre());
  EXPECT_THAT(NgramBanned({1, 1}, 2), ElementsAre(1));
}

TEST(BanRepeatedNgramsTest, PassesOverTokensWithoutId) {
  EXPECT_THAT(NgramBanned({kNoTokenId, kNoTokenId, kNoTokenId}, 1), ElementsAre());
  EXPECT_THAT(NgramBanned({kNoTokenId, 3, kNoTokenId}, 2), ElementsAre());
}

std::vector<int32_t> SequenceBanned(const std::vector<int32_t>& token_ids,
                                    const std::vector<std::vector<int32_t>>& sequences) {
  std::vector<float> logits(10);
  BanSequences(token_ids, sequences, absl::MakeSpan(logits));
  return Banned(logits);
}

TEST(BanSequencesTest, BansTheLastTokenWhereTheOthersStand) {
  EXPECT_THAT(SequenceBanned({1, 2, 3}, {{3, 4}, {2, 3, 5}, {2, 6}, {9}}), ElementsAre(4, 5, 9));
}

TEST(BanSequencesTest, BansSingleTokensBeforeTheFirst) {
  EXPECT_THAT(SequenceBanned({}, {{2}, {1, 3}}), ElementsAre(2));
}
}  // namespace
}  // namespace phyllo
