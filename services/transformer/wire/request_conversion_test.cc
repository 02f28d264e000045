#include "services/transformer/wire/request_conversion.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

transformer::v1::GenerateStart Start() {
  transformer::v1::GenerateStart start;
  start.add_prompt_token_ids(5);
  start.mutable_sampling()->set_seed(1);
  start.mutable_stopping()->set_max_new_tokens(10);
  return start;
}

TEST(ToSequenceRequestTest, CarriesEveryField) {
  transformer::v1::GenerateStart start = Start();
  start.add_generated_token_ids(6);
  common::v1::SamplingParameters& sampling = *start.mutable_sampling();
  sampling.set_temperature(0.5f);
  sampling.set_top_k(7);
  sampling.set_top_p(0.8f);
  sampling.set_min_p(0.1f);
  sampling.set_repetition_penalty(1.1f);
  sampling.set_frequency_penalty(0.2f);
  sampling.set_presence_penalty(0.3f);
  (*sampling.mutable_logit_bias())[3] = 2.0f;
  sampling.add_allowed_token_ids(4);
  sampling.set_seed(uint64_t{1} << 40);
  start.mutable_stopping()->set_min_new_tokens(2);
  start.mutable_stopping()->add_stop_token_ids(9);
  start.mutable_stopping()->set_ignore_eos(true);
  start.mutable_stopping()->mutable_time_limit()->set_seconds(3);
  start.mutable_logprobs()->set_top_count(4);
  start.mutable_logprobs()->add_token_ids(8);
  start.mutable_prompt_logprobs()->set_top_count(1);
  start.set_choice_index(2);
  start.set_prompt_is_hidden_states(true);
  start.mutable_context()->set_priority(-3);

  PHYLLO_ASSERT_OK_AND_ASSIGN(const SequenceRequest request, ToSequenceRequest(start));
  EXPECT_THAT(request.prompt_token_ids, ElementsAre(5));
  EXPECT_THAT(request.generated_token_ids, ElementsAre(6));
  EXPECT_EQ(request.max_new_tokens, 10);
  EXPECT_EQ(request.sampling.temperature, 0.5f);
  EXPECT_THAT(request.sampling.top_k, Optional(7));
  EXPECT_EQ(request.sampling.top_p, 0.8f);
  EXPECT_EQ(request.sampling.min_p, 0.1f);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.1f);
  EXPECT_EQ(request.sampling.frequency_penalty, 0.2f);
  EXPECT_EQ(request.sampling.presence_penalty, 0.3f);
  EXPECT_THAT(request.sampling.logit_bias, UnorderedElementsAre(Pair(3, 2.0f)));
  EXPECT_THAT(request.sampling.allowed_token_ids, ElementsAre(4));
  EXPECT_EQ(request.sampling.seed, uint64_t{1} << 40);
  EXPECT_EQ(request.sampling.min_tokens, 2);
  EXPECT_THAT(request.sampling.stop_token_ids, ElementsAre(9));
  EXPECT_EQ(request.sampling.top_logprobs, 4);
  EXPECT_THAT(request.sampling.logprob_token_ids, ElementsAre(8));
  EXPECT_EQ(request.sampling.choice, 2);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_TRUE(request.prompt_is_hidden_states);
  EXPECT_THAT(request.time_limit, Optional(absl::Seconds(3)));
  EXPECT_THAT(request.first_scored_index, Optional(1));
  EXPECT_EQ(request.prompt_logprobs.top_logprobs, 1);
  EXPECT_EQ(request.priority, -3);
}

TEST(ToSequenceRequestTest, CarriesWhatIsRarelyAskedOfTheSampler) {
  transformer::v1::GenerateStart start = Start();
  common::v1::SamplingParameters& sampling = *start.mutable_sampling();
  sampling.set_typical_p(0.7f);
  sampling.set_top_n_sigma(1.5f);
  sampling.mutable_xtc()->set_probability(0.25f);
  sampling.mutable_xtc()->set_threshold(0.125f);
  sampling.set_penalty_window(64);
  sampling.set_no_repeat_ngram_size(3);
  for (const int32_t id : {6, 7}) {
    common::v1::TokenSequence& banned = *sampling.add_banned_token_sequences();
    banned.add_token_ids(5);
    banned.add_token_ids(id);
  }
  sampling.mutable_dry()->set_multiplier(0.5f);
  sampling.mutable_dry()->set_base(2.0f);
  sampling.mutable_dry()->set_allowed_length(4);
  sampling.mutable_dry()->add_breaker_token_ids(1);

  PHYLLO_ASSERT_OK_AND_ASSIGN(const SequenceRequest request, ToSequenceRequest(start));
  EXPECT_EQ(request.sampling.typical_p, 0.7f);
  EXPECT_THAT(request.sampling.top_n_sigma, Optional(1.5f));
  ASSERT_TRUE(request.sampling.xtc.has_value());
  EXPECT_EQ(request.sampling.xtc->probability, 0.25f);
  EXPECT_EQ(request.sampling.xtc->threshold, 0.125f);
  EXPECT_THAT(request.sampling.penalty_window, Optional(64));
  EXPECT_THAT(request.sampling.no_repeat_ngram_size, Optional(3));
  EXPECT_THAT(request.sampling.banned_sequences, ElementsAre(ElementsAre(5, 6), ElementsAre(5, 7)));
  ASSERT_TRUE(request.sampling.dry.has_value());
  EXPECT_EQ(request.sampling.dry->multiplier, 0.5f);
  EXPECT_EQ(request.sampling.dry->base, 2.0f);
  EXPECT_EQ(request.sampling.dry->allowed_length, 4);
  EXPECT_THAT(request.sampling.dry->breaker_token_ids, UnorderedElementsAre(1));
}

TEST(ToSequenceRequestTest, LeavesSpeculationToTheServerUnlessItIsSet) {
  transformer::v1::GenerateStart start = Start();
  PHYLLO_ASSERT_OK_AND_ASSIGN(SequenceRequest request, ToSequenceRequest(start));
  EXPECT_EQ(request.speculation.enabled, std::nullopt);
  start.mutable_speculation()->set_enabled(false);
  PHYLLO_ASSERT_OK_AND_ASSIGN(request, ToSequenceRequest(start));
  EXPECT_THAT(request.speculation.enabled, Optional(false));
  EXPECT_EQ(request.speculation.max_draft_tokens, std::nullopt);
  start.mutable_speculation()->set_enabled(true);
  start.mutable_speculation()->set_max_draft_token_count(16);
  PHYLLO_ASSERT_OK_AND_ASSIGN(request, ToSequenceRequest(start));
  EXPECT_THAT(request.speculation.enabled, Optional(true));
  EXPECT_THAT(request.speculation.max_draft_tokens, Optional(16));
}

struct BadStart {
  std::string field;
  std::function<void(transformer::v1::GenerateStart&)> spoil;
};

class BadGenerateStartTest : public ::testing::TestWithParam<BadStart> {};

TEST_P(BadGenerateStartTest, ReturnsInvalidArgumentNamingTheField) {
  transformer::v1::GenerateStart start = Start();
  GetParam().spoil(start);
  const absl::Status status = ToSequenceRequest(start).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(GetInvalidField(status), Optional(GetParam().field));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadGenerateStartTest,
    ::testing::Values(
        BadStart{"sampling.seed", [](auto& s) { s.mutable_sampling()->clear_seed(); }},
        BadStart{"stopping.max_new_tokens",
                 [](auto& s) { s.mutable_stopping()->clear_max_new_tokens(); }},
        BadStart{"stopping.max_new_tokens",
                 [](auto& s) { s.mutable_stopping()->set_max_new_tokens(0); }},
        BadStart{"constraint", [](auto& s) { s.mutable_constraint(); }},
        BadStart{"speculation.max_draft_token_count",
                 [](auto& s) { s.mutable_speculation()->set_max_draft_token_count(0); }},
        BadStart{"speculation.max_draft_token_count",
                 [](auto& s) { s.mutable_speculation()->set_max_draft_token_count(17); }},
        BadStart{"context.priority", [](auto& s) { s.mutable_context()->set_priority(101); }}));

TEST(ToSequenceRequestTest, NeedsNoSeedWhenGreedy) {
  transformer::v1::GenerateStart start = Start();
  start.mutable_sampling()->clear_seed();
  start.mutable_sampling()->set_temperature(0.0f);
  PHYLLO_EXPECT_OK(ToSequenceRequest(start));
}

TEST(ToSequenceRequestTest, ReturnsNotFoundForAnAdapter) {
  transformer::v1::GenerateStart start = Start();
  start.mutable_context()->set_adapter("x");
  EXPECT_THAT(ToSequenceRequest(start), StatusIs(absl::StatusCode::kNotFound));
}

TEST(ToSequenceRequestTest, ScoresFromTheFirstScoredIndex) {
  transformer::v1::ScoreStart start;
  for (int32_t id = 0; id < 4; ++id) start.add_token_ids(id);
  start.set_first_scored_index(2);
  start.mutable_logprobs()->set_top_count(3);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const SequenceRequest request, ToSequenceRequest(start));
  EXPECT_EQ(request.max_new_tokens, 0);
  EXPECT_THAT(request.first_scored_index, Optional(2));
  EXPECT_EQ(request.prompt_logprobs.top_logprobs, 3);
}

TEST(ToSequenceRequestTest, ReturnsInvalidArgumentWhenThereIsNothingToScore) {
  transformer::v1::ScoreStart start;
  start.add_token_ids(1);
  EXPECT_THAT(ToSequenceRequest(start),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token_ids")));
  start.add_token_ids(2);
  start.set_first_scored_index(2);
  EXPECT_THAT(ToSequenceRequest(start),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first_scored_index")));
}

transformer::v1::EncodeStart Encoding(common::v1::Pooling pooling) {
  transformer::v1::EncodeStart start;
  start.add_token_ids(5);
  start.set_pooling(pooling);
  return start;
}

TEST(ToSequenceRequestTest, EncodesWithThePoolingThatIsNamed) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const SequenceRequest request,
                              ToSequenceRequest(Encoding(common::v1::POOLING_MEAN)));
  EXPECT_THAT(request.prompt_token_ids, ElementsAre(5));
  EXPECT_EQ(request.encoding->pooling, Pooling::kMean);
  EXPECT_EQ(request.max_new_tokens, 0);
}

TEST(ToSequenceRequestTest, LeavesAnUnnamedPoolingToTheModel) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const SequenceRequest request,
                              ToSequenceRequest(Encoding(common::v1::POOLING_UNSPECIFIED)));
  ASSERT_TRUE(request.encoding.has_value());
  EXPECT_FALSE(request.encoding->pooling.has_value());
}

TEST(ToSequenceRequestTest, RefusesAnEncodingOfNothingOrOfAnUnknownPooling) {
  EXPECT_THAT(ToSequenceRequest(transformer::v1::EncodeStart()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token_ids")));
  EXPECT_THAT(ToSequenceRequest(Encoding(static_cast<common::v1::Pooling>(77))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pooling")));
}

common::v1::Tensor Rows(common::v1::DataType type, std::vector<int64_t> shape, std::string data) {
  common::v1::Tensor rows;
  rows.set_data_type(type);
  for (const int64_t extent : shape) rows.add_shape(extent);
  rows.set_data(std::move(data));
  return rows;
}

TEST(ToHiddenStatesTest, WidensEveryType) {
  // 1 and -2 in each.
  const std::string f32("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);
  const std::string f16("\x00\x3c\x00\xc0", 4);
  const std::string bf16("\x80\x3f\x00\xc0", 4);
  for (const auto& [type, data] :
       {std::pair(common::v1::DATA_TYPE_F32, f32), std::pair(common::v1::DATA_TYPE_F16, f16),
        std::pair(common::v1::DATA_TYPE_BF16, bf16)}) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> rows,
                                ToHiddenStates(Rows(type, {1, 2}, data), 2));
    EXPECT_THAT(rows, ElementsAre(1.0f, -2.0f));
  }
}

TEST(ToHiddenStatesTest, ReturnsInvalidArgumentWhenTypeShapeOrBytesAreWrong) {
  const std::string data(8, '\0');
  const auto is_invalid =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hidden_states.rows"));
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_UNSPECIFIED, {1, 2}, data), 2), is_invalid);
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_I32, {1, 2}, data), 2), is_invalid);
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_F32, {2}, data), 2), is_invalid);
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_F32, {2, 1}, data), 2), is_invalid);
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_F32, {0, 2}, ""), 2), is_invalid);
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_F32, {2, 2}, data), 2), is_invalid);
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_F32, {int64_t{1} << 61, 2}, data), 2),
              is_invalid);
  EXPECT_THAT(ToHiddenStates(Rows(common::v1::DATA_TYPE_F32, {1, 2}, data + "x"), 2), is_invalid);
}

}  // namespace
}  // namespace phyllo
