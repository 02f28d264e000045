#include "model/config/generation_config.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/model_config.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ParseGenerationConfigTest, ReadsEveryKnownKey) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationConfig config, ParseGenerationConfig(R"({
      "bos_token_id": 1, "eos_token_id": [2, 0], "pad_token_id": 0, "do_sample": true, "temperature": 0.6, "top_p": 0.9,
      "top_k": 20, "min_p": 0.05, "repetition_penalty": 1, "max_new_tokens": 400, "transformers_version": "5.12.1"})"));
  EXPECT_EQ(config.do_sample, true);
  EXPECT_EQ(config.temperature, 0.6);
  EXPECT_EQ(config.top_k, 20);
  EXPECT_EQ(config.top_p, 0.9);
  EXPECT_EQ(config.min_p, 0.05);
  EXPECT_EQ(config.repetition_penalty, 1.0);
  EXPECT_EQ(config.max_new_tokens, 400);
  EXPECT_EQ(config.bos_token_id, 1);
  EXPECT_THAT(config.eos_token_id, ElementsAre(2, 0));
  EXPECT_EQ(config.pad_token_id, 0);
}

TEST(ParseGenerationConfigTest, ReadsWhatForbidsAndFavoursTokens) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationConfig config, ParseGenerationConfig(R"({
      "typical_p": 0.9, "no_repeat_ngram_size": 3, "eos_token_id": [2],
      "bad_words_ids": [[7, 8], [2], [9], [2, 2]], "suppress_tokens": [4, 2],
      "sequence_bias": [[[5], -1.5], [[6], 2]]})"));
  EXPECT_EQ(config.typical_p, 0.9);
  EXPECT_EQ(config.no_repeat_ngram_size, 3);
  // Of bad_words_ids the end of the text alone is left out, as in the reference.
  EXPECT_THAT(config.banned_token_sequences,
              ElementsAre(ElementsAre(7, 8), ElementsAre(9), ElementsAre(2, 2), ElementsAre(4),
                          ElementsAre(2)));
  EXPECT_THAT(config.logit_bias, ElementsAre(Pair(5, -1.5), Pair(6, 2.0)));
}

TEST(ParseGenerationConfigTest, ReturnsUnimplementedForABiasOfSeveralTokens) {
  EXPECT_THAT(ParseGenerationConfig(R"({"sequence_bias": [[[5, 6], 1]]})"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("sequence_bias for 2 tokens")));
}

TEST(ParseGenerationConfigTest, LeavesAbsentAndNullKeysEmpty) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationConfig config,
                              ParseGenerationConfig(R"({"top_k": null, "x": [1]})"));
  EXPECT_EQ(config.do_sample, std::nullopt);
  EXPECT_EQ(config.temperature, std::nullopt);
  EXPECT_EQ(config.top_k, std::nullopt);
  EXPECT_THAT(config.eos_token_id, IsEmpty());
}

TEST(ParseGenerationConfigTest, ReturnsInvalidArgumentForBadValues) {
  const struct {
    const char* json;
    const char* message;
  } cases[] = {
      {R"({"temperature": -1})", "temperature must be in 0"},
      {R"({"temperature": "hot"})", "temperature must be a number, is \"hot\""},
      {R"({"top_k": -1})", "top_k must be in 0"},
      {R"({"top_k": 2.5})", "top_k must be an integer, is 2.5"},
      {R"({"top_p": 1.5})", "top_p must be in 0 .. 1, is 1.5"},
      {R"({"min_p": -0.1})", "min_p must be in 0 .. 1"},
      {R"({"repetition_penalty": 0})", "repetition_penalty must be over 0"},
      {R"({"typical_p": 2})", "typical_p must be in 0 .. 1, is 2"},
      {R"({"no_repeat_ngram_size": -1})", "no_repeat_ngram_size must be in 0"},
      {R"({"bad_words_ids": 7})", "bad_words_ids must be a list of at most 1024"},
      {R"({"bad_words_ids": [7]})", "bad_words_ids must hold lists of 1 to 256"},
      {R"({"bad_words_ids": [[]]})", "bad_words_ids must hold lists of 1 to 256"},
      {R"({"bad_words_ids": [[-1]]})", "bad_words_ids must hold token ids in 0"},
      {R"({"suppress_tokens": [1.5]})", "suppress_tokens must be an integer, is 1.5"},
      {R"({"sequence_bias": {"5": 1}})", "sequence_bias must be a list"},
      {R"({"sequence_bias": [[5, 1]]})", "sequence_bias must hold lists"},
      {R"({"sequence_bias": [[[5], "x"]]})", "sequence_bias must hold pairs"},
      {R"({"sequence_bias": [[[5], 1001]]})", "sequence_bias must be in -1000 .. 1000, is 1001"},
      {R"({"max_new_tokens": 0})", "max_new_tokens must be in 1"},
      {R"({"eos_token_id": [1, -1]})", "eos_token_id must be in 0"},
      {R"({"do_sample": 1})", "do_sample must be true or false"},
      {R"({"temperature": 1e999})", "not valid JSON"},
      {R"({"top_p": 1, "top_p": 0.5})", "\"top_p\" occurs twice"},
      {R"(7)", "must be a JSON object"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseGenerationConfig(c.json),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.json;
  }
}

TEST(EndOfSequenceIdsTest, PrefersGenerationConfig) {
  GenerationConfig generation;
  generation.eos_token_id = {5, 2, 5};
  ModelConfig config;
  config.eos_token_id = {9};
  EXPECT_THAT(EndOfSequenceIds(generation, config), ElementsAre(2, 5));
}

TEST(EndOfSequenceIdsTest, FallsBackToModelConfig) {
  ModelConfig config;
  config.eos_token_id = {9};
  EXPECT_THAT(EndOfSequenceIds(GenerationConfig(), config), ElementsAre(9));
}

}  // namespace
}  // namespace phyllo
