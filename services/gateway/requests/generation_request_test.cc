#include "services/gateway/requests/generation_request.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateRequest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int32_t kVocabSize = 100;

transformer::v1::GetInfoResponse Model() {
  transformer::v1::GetInfoResponse model;
  model.mutable_server()->set_model("tiny");
  model.mutable_shape()->set_vocab_size(kVocabSize);
  model.mutable_shape()->set_hidden_size(2);
  model.set_max_sequence_length(16);
  model.add_eos_token_ids(2);
  return model;
}

GenerateRequest TextRequest() {
  GenerateRequest wire;
  wire.set_text("hello");
  return wire;
}

absl::StatusOr<GenerationRequest> Validate(
    const GenerateRequest& wire, const transformer::v1::GetInfoResponse& model = Model()) {
  return ValidateGenerateRequest(wire, model, {42, "made-up"});
}

TEST(ValidateGenerateRequestTest, FillsBuiltInDefaults) {
  const GenerateRequest wire = TextRequest();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationRequest request, Validate(wire));
  EXPECT_EQ(request.sampling.temperature(), 1);
  EXPECT_EQ(request.sampling.top_p(), 1);
  EXPECT_EQ(request.sampling.repetition_penalty(), 1);
  EXPECT_FALSE(request.sampling.has_top_k());
  EXPECT_EQ(request.sampling.seed(), 42);
  EXPECT_EQ(request.context.request_id(), "made-up");
  EXPECT_THAT(request.stop_token_ids, UnorderedElementsAre(2));
  EXPECT_EQ(request.stream_interval, 1);
}

TEST(ValidateGenerateRequestTest, PrefersRequestOverModelOverBuiltIn) {
  transformer::v1::GetInfoResponse model = Model();
  model.mutable_default_sampling()->set_temperature(0.5f);
  model.mutable_default_sampling()->set_top_k(20);
  model.mutable_default_stopping()->set_max_new_tokens(7);
  GenerateRequest wire = TextRequest();
  wire.mutable_sampling()->set_temperature(0);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationRequest request, Validate(wire, model));
  EXPECT_EQ(request.sampling.temperature(), 0);
  EXPECT_EQ(request.sampling.top_k(), 20);
  EXPECT_EQ(request.stopping.max_new_tokens(), 7);
}

TEST(ValidateGenerateRequestTest, KeepsSeedZeroWhenGiven) {
  GenerateRequest wire = TextRequest();
  wire.mutable_sampling()->set_seed(0);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationRequest request, Validate(wire));
  EXPECT_EQ(request.sampling.seed(), 0);
}

TEST(ValidateGenerateRequestTest, ReplacesModelsStopTokensByRequests) {
  transformer::v1::GetInfoResponse model = Model();
  model.mutable_default_stopping()->add_stop_token_ids(9);
  GenerateRequest wire = TextRequest();
  wire.mutable_stopping()->add_stop_token_ids(5);
  wire.mutable_stopping()->set_ignore_eos(true);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationRequest request, Validate(wire, model));
  EXPECT_THAT(request.stopping.stop_token_ids(), ElementsAre(5));
  EXPECT_THAT(request.stop_token_ids, UnorderedElementsAre(5));
}

TEST(ValidateGenerateRequestTest, DrawsDifferentDefaultsEachTime) {
  const RequestDefaults first = DrawRequestDefaults();
  const RequestDefaults second = DrawRequestDefaults();
  EXPECT_NE(first.seed, second.seed);
  EXPECT_NE(first.request_id, second.request_id);
}

TEST(ValidateGenerateRequestTest, ReturnsNotFoundForOtherModel) {
  GenerateRequest wire = TextRequest();
  wire.set_model("huge");
  EXPECT_THAT(Validate(wire), StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"tiny\"")));
  wire.set_model("tiny");
  PHYLLO_EXPECT_OK(Validate(wire));
}

// A change to a valid request, and the field that the error must name.
struct InvalidCase {
  std::string field;
  std::function<void(GenerateRequest&)> change;
};

class InvalidFieldTest : public ::testing::TestWithParam<InvalidCase> {};

TEST_P(InvalidFieldTest, IsNamed) {
  GenerateRequest wire = TextRequest();
  GetParam().change(wire);
  const absl::Status status = Validate(wire).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().field)));
  EXPECT_EQ(GetInvalidField(status), GetParam().field);
}

const float kNan = std::numeric_limits<float>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    OutOfRange, InvalidFieldTest,
    ::testing::ValuesIn(std::vector<InvalidCase>{
        {"prompt", [](GenerateRequest& r) { r.clear_text(); }},
        {"token_ids", [](GenerateRequest& r) { r.mutable_token_ids(); }},
        {"token_ids", [](GenerateRequest& r) { r.mutable_token_ids()->add_ids(kVocabSize); }},
        {"token_ids", [](GenerateRequest& r) { r.mutable_token_ids()->add_ids(-1); }},
        {"sampling.temperature",
         [](GenerateRequest& r) { r.mutable_sampling()->set_temperature(-0.1f); }},
        {"sampling.temperature",
         [](GenerateRequest& r) { r.mutable_sampling()->set_temperature(kNan); }},
        {"sampling.top_p", [](GenerateRequest& r) { r.mutable_sampling()->set_top_p(0); }},
        {"sampling.top_p", [](GenerateRequest& r) { r.mutable_sampling()->set_top_p(1.5f); }},
        {"sampling.min_p", [](GenerateRequest& r) { r.mutable_sampling()->set_min_p(kNan); }},
        {"sampling.top_k", [](GenerateRequest& r) { r.mutable_sampling()->set_top_k(0); }},
        {"sampling.repetition_penalty",
         [](GenerateRequest& r) { r.mutable_sampling()->set_repetition_penalty(0); }},
        {"sampling.frequency_penalty",
         [](GenerateRequest& r) { r.mutable_sampling()->set_frequency_penalty(101); }},
        {"sampling.presence_penalty",
         [](GenerateRequest& r) { r.mutable_sampling()->set_presence_penalty(-101); }},
        {"sampling.logit_bias[100]",
         [](GenerateRequest& r) { (*r.mutable_sampling()->mutable_logit_bias())[kVocabSize] = 1; }},
        {"sampling.logit_bias[3]",
         [](GenerateRequest& r) { (*r.mutable_sampling()->mutable_logit_bias())[3] = kNan; }},
        {"sampling.allowed_token_ids",
         [](GenerateRequest& r) { r.mutable_sampling()->add_allowed_token_ids(-5); }},
        {"sampling.typical_p", [](GenerateRequest& r) { r.mutable_sampling()->set_typical_p(0); }},
        {"sampling.top_n_sigma",
         [](GenerateRequest& r) { r.mutable_sampling()->set_top_n_sigma(0); }},
        {"sampling.penalty_window",
         [](GenerateRequest& r) { r.mutable_sampling()->set_penalty_window(0); }},
        {"sampling.no_repeat_ngram_size",
         [](GenerateRequest& r) { r.mutable_sampling()->set_no_repeat_ngram_size(0); }},
        {"sampling.banned_token_sequences[0]",
         [](GenerateRequest& r) { r.mutable_sampling()->add_banned_token_sequences(); }},
        {"sampling.banned_token_sequences[0]",
         [](GenerateRequest& r) {
           r.mutable_sampling()->add_banned_token_sequences()->add_token_ids(kVocabSize);
         }},
        {"sampling.dry.multiplier",
         [](GenerateRequest& r) { r.mutable_sampling()->mutable_dry(); }},
        {"sampling.dry.base",
         [](GenerateRequest& r) {
           r.mutable_sampling()->mutable_dry()->set_multiplier(1);
           r.mutable_sampling()->mutable_dry()->set_base(0.5f);
         }},
        {"sampling.dry.allowed_length",
         [](GenerateRequest& r) {
           r.mutable_sampling()->mutable_dry()->set_multiplier(1);
           r.mutable_sampling()->mutable_dry()->set_allowed_length(-1);
         }},
        {"sampling.dry.breaker_token_ids",
         [](GenerateRequest& r) {
           r.mutable_sampling()->mutable_dry()->set_multiplier(1);
           r.mutable_sampling()->mutable_dry()->add_breaker_token_ids(kVocabSize);
         }},
        {"sampling.xtc.probability",
         [](GenerateRequest& r) { r.mutable_sampling()->mutable_xtc()->set_probability(1.5f); }},
        {"sampling.xtc.threshold",
         [](GenerateRequest& r) { r.mutable_sampling()->mutable_xtc()->set_threshold(0.6f); }},
        {"banned_texts[0]", [](GenerateRequest& r) { r.add_banned_texts(""); }},
        {"banned_texts",
         [](GenerateRequest& r) {
           for (int i = 0; i < 65; ++i) r.add_banned_texts("x");
         }},
        {"stopping.max_new_tokens",
         [](GenerateRequest& r) { r.mutable_stopping()->set_max_new_tokens(0); }},
        {"stopping.min_new_tokens",
         [](GenerateRequest& r) { r.mutable_stopping()->set_min_new_tokens(-1); }},
        {"stopping.time_limit",
         [](GenerateRequest& r) { r.mutable_stopping()->mutable_time_limit(); }},
        {"stopping.stop_token_ids",
         [](GenerateRequest& r) { r.mutable_stopping()->add_stop_token_ids(kVocabSize); }},
        {"stop_sequences[1]",
         [](GenerateRequest& r) {
           r.add_stop_sequences("x");
           r.add_stop_sequences("");
         }},
        {"stop_sequences[0]",
         [](GenerateRequest& r) { r.add_stop_sequences(std::string(1025, 'x')); }},
        {"stop_sequences",
         [](GenerateRequest& r) {
           for (int i = 0; i < 17; ++i) r.add_stop_sequences("x");
         }},
        {"output.logprobs.top_count",
         [](GenerateRequest& r) { r.mutable_output()->mutable_logprobs()->set_top_count(129); }},
        {"output.prompt_logprobs.token_ids",
         [](GenerateRequest& r) {
           r.mutable_output()->mutable_prompt_logprobs()->add_token_ids(kVocabSize);
         }},
        {"output.stream_interval",
         [](GenerateRequest& r) { r.mutable_output()->set_stream_interval(0); }},
        {"choice_count", [](GenerateRequest& r) { r.set_choice_count(0); }},
        {"truncation",
         [](GenerateRequest& r) {
           r.set_truncation(static_cast<gateway::v1::TruncationPolicy>(77));
         }},
        {"context.request_id",
         [](GenerateRequest& r) { r.mutable_context()->set_request_id("two\nlines"); }},
        {"context.tenant",
         [](GenerateRequest& r) { r.mutable_context()->set_tenant(std::string(129, 'x')); }},
        {"context.priority", [](GenerateRequest& r) { r.mutable_context()->set_priority(101); }},
        {"context.prefix_cache_salt",
         [](GenerateRequest&
                r) { r.mutable_context()->set_prefix_cache_salt(std::string(65, 'x')); }},
    }));

INSTANTIATE_TEST_SUITE_P(
    NotOffered, InvalidFieldTest,
    ::testing::ValuesIn(std::vector<InvalidCase>{
        {"beam_width", [](GenerateRequest& r) { r.set_beam_width(4); }},
        {"constraint", [](GenerateRequest& r) { r.mutable_constraint()->set_regex("a+"); }},
        {"reasoning", [](GenerateRequest& r) { r.mutable_reasoning()->set_enabled(true); }},
        {"context.adapter", [](GenerateRequest& r) { r.mutable_context()->set_adapter("x"); }},
    }));

// One row of two numbers.
void SetRows(GenerateRequest& request, std::vector<float> values = {1, 2}) {
  common::v1::Tensor& rows = *request.mutable_hidden_states();
  rows.set_data_type(common::v1::DATA_TYPE_F32);
  rows.add_shape(1);
  rows.add_shape(2);
  rows.set_data(values.data(), values.size() * sizeof(float));
}

INSTANTIATE_TEST_SUITE_P(HiddenStates, InvalidFieldTest,
                         ::testing::ValuesIn(std::vector<InvalidCase>{
                             {"hidden_states",
                              [](GenerateRequest& r) { r.mutable_hidden_states(); }},
                             {"hidden_states",
                              [](GenerateRequest& r) {
                                SetRows(r);
                                r.mutable_hidden_states()->set_data_type(common::v1::DATA_TYPE_I32);
                              }},
                             {"hidden_states",
                              [](GenerateRequest& r) {
                                SetRows(r);
                                r.mutable_hidden_states()->set_shape(1, 1);
                              }},
                             {"hidden_states",
                              [](GenerateRequest& r) {
                                SetRows(r);
                                r.mutable_hidden_states()->set_shape(0, int64_t{1} << 61);
                              }},
                             {"hidden_states",
                              [](GenerateRequest& r) {
                                SetRows(r, {1, 2, 3});
                              }},
                             {"hidden_states",
                              [](GenerateRequest& r) {
                                SetRows(r, {1, kNan});
                              }},
                             {"output.prompt_logprobs",
                              [](GenerateRequest& r) {
                                SetRows(r);
                                r.mutable_output()->mutable_prompt_logprobs();
                              }},
                             {"output.echo_prompt",
                              [](GenerateRequest& r) {
                                SetRows(r);
                                r.mutable_output()->set_echo_prompt(true);
                              }},
                             {"truncation",
                              [](GenerateRequest& r) {
                                SetRows(r);
                                r.set_truncation(gateway::v1::TRUNCATION_POLICY_CUT_END);
                              }},
                         }));

TEST(ValidateGenerateRequestTest, TakesHiddenStates) {
  GenerateRequest wire;
  SetRows(wire);
  PHYLLO_EXPECT_OK(Validate(wire));
}

TEST(ValidateGenerateRequestTest, FillsDefaultsOfDryInWhenItIsOn) {
  GenerateRequest wire = TextRequest();
  wire.mutable_sampling()->mutable_dry()->set_multiplier(0.5f);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GenerationRequest request, Validate(wire));
  EXPECT_EQ(request.sampling.dry().base(), 1.75f);
  EXPECT_EQ(request.sampling.dry().allowed_length(), 2);
}

class FitPromptTest : public ::testing::Test {
 protected:
  // Fits ids 0 .. size-1 into 10 tokens.
  absl::StatusOr<int64_t> Fit(int size) {
    ids_.resize(size);
    for (int i = 0; i < size; ++i) ids_[i] = i;
    PHYLLO_ASSIGN_OR_RETURN(request_, Validate(wire_));
    return FitPrompt(10, request_, ids_);
  }

  GenerateRequest wire_ = TextRequest();
  GenerationRequest request_;
  std::vector<int32_t> ids_;
};

TEST_F(FitPromptTest, GivesAnswerWhatContextLeaves) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const int64_t cut, Fit(4));
  EXPECT_EQ(cut, 0);
  EXPECT_EQ(request_.stopping.max_new_tokens(), 6);
}

TEST_F(FitPromptTest, TakesPromptThatLeavesOneToken) {
  PHYLLO_ASSERT_OK(Fit(9));
  EXPECT_EQ(request_.stopping.max_new_tokens(), 1);
}

TEST_F(FitPromptTest, RejectsLongPromptWithNeededAndAvailableCounts) {
  const absl::Status status = Fit(10).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("10 tokens"), HasSubstr("at most 9"))));
  EXPECT_EQ(GetReason(status)->reason, "PROMPT_TOO_LONG");
  EXPECT_EQ(GetReason(status)->metadata.at("needed_token_count"), "10");
  EXPECT_EQ(GetReason(status)->metadata.at("available_token_count"), "9");
}

TEST_F(FitPromptTest, CutsStartAndKeepsRoomForTheAnswer) {
  wire_.set_truncation(gateway::v1::TRUNCATION_POLICY_CUT_START);
  wire_.mutable_stopping()->set_max_new_tokens(7);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const int64_t cut, Fit(12));
  EXPECT_EQ(cut, 9);
  EXPECT_THAT(ids_, ElementsAre(9, 10, 11));
}

TEST_F(FitPromptTest, CutsEnd) {
  wire_.set_truncation(gateway::v1::TRUNCATION_POLICY_CUT_END);
  wire_.mutable_stopping()->set_max_new_tokens(8);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const int64_t cut, Fit(12));
  EXPECT_EQ(cut, 10);
  EXPECT_THAT(ids_, ElementsAre(0, 1));
}

TEST_F(FitPromptTest, KeepsOneTokenWhenAnswerWantsEverything) {
  wire_.set_truncation(gateway::v1::TRUNCATION_POLICY_CUT_START);
  wire_.mutable_stopping()->set_max_new_tokens(500);
  PHYLLO_ASSERT_OK(Fit(12));
  EXPECT_THAT(ids_, ElementsAre(11));
}

TEST_F(FitPromptTest, RejectsMoreLogprobsThanAMessageHolds) {
  wire_.mutable_output()->mutable_prompt_logprobs()->set_top_count(128);
  ids_.resize(8200);
  PHYLLO_ASSERT_OK_AND_ASSIGN(request_, Validate(wire_));
  EXPECT_EQ(GetInvalidField(FitPrompt(10000, request_, ids_).status()), "output.prompt_logprobs");
  ids_.resize(8000);
  PHYLLO_EXPECT_OK(FitPrompt(10000, request_, ids_));
}

TEST_F(FitPromptTest, RejectsEmptyPrompt) { EXPECT_EQ(GetInvalidField(Fit(0).status()), "prompt"); }

TEST_F(FitPromptTest, RejectsMinimumAboveMaximum) {
  wire_.mutable_stopping()->set_max_new_tokens(2);
  wire_.mutable_stopping()->set_min_new_tokens(3);
  EXPECT_EQ(GetInvalidField(Fit(4).status()), "stopping.min_new_tokens");
}

}  // namespace
}  // namespace phyllo
