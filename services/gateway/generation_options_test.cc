// What a client may ask of a generation beside its text, through a gateway with fakes behind it.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "services/gateway/testing/gateway_harness.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateRequest;
using ::testing::ElementsAre;

GenerateRequest TextRequest(const std::string& text = "Say hello") {
  GenerateRequest request;
  request.set_text(text);
  return request;
}

class GenerationOptionsTest : public ::testing::Test {
 protected:
  void Start() {
    gateway_.Start();
    ASSERT_TRUE(gateway_.WaitForPath(true));
  }

  // Ends with `reason` after one token.
  void AnswerOneToken(common::v1::FinishReason reason) {
    gateway_.transformer.script = [reason](grpc::ServerContext&,
                                           const transformer::v1::GenerateStart&,
                                           FakeTransformer::Stream& stream) {
      FakeTransformer::SendText("a", 1, stream);
      FakeTransformer::SendFinished(reason, stream);
      return grpc::Status::OK;
    };
    Start();
  }

  GatewayHarness gateway_;
};

TEST_F(GenerationOptionsTest, PassesEverySamplingParameterOn) {
  Start();
  GenerateRequest request = TextRequest();
  common::v1::SamplingParameters& sampling = *request.mutable_sampling();
  sampling.set_typical_p(0.9f);
  sampling.set_top_n_sigma(2);
  sampling.set_penalty_window(32);
  sampling.set_no_repeat_ngram_size(4);
  sampling.add_banned_token_sequences()->add_token_ids(7);
  sampling.mutable_dry()->set_multiplier(0.8f);
  sampling.mutable_xtc()->set_probability(0.5f);
  sampling.mutable_xtc()->set_threshold(0.1f);
  const Received received = gateway_.Generate(request);
  PHYLLO_ASSERT_OK(received.status);
  const common::v1::SamplingParameters got = gateway_.transformer.last_start().sampling();
  EXPECT_EQ(got.typical_p(), 0.9f);
  EXPECT_EQ(got.top_n_sigma(), 2);
  EXPECT_EQ(got.penalty_window(), 32);
  EXPECT_EQ(got.no_repeat_ngram_size(), 4);
  EXPECT_EQ(got.banned_token_sequences_size(), 1);
  EXPECT_EQ(got.dry().multiplier(), 0.8f);
  EXPECT_EQ(got.xtc().threshold(), 0.1f);
  EXPECT_EQ(received.finished.resolved().sampling().SerializeAsString(), got.SerializeAsString());
}

TEST_F(GenerationOptionsTest, LeavesSpeculationToTheTransformerUnlessItIsSet) {
  Start();
  GenerateRequest request = TextRequest();
  PHYLLO_ASSERT_OK(gateway_.Generate(request).status);
  EXPECT_FALSE(gateway_.transformer.last_start().has_speculation());
  for (const bool enabled : {true, false}) {
    request.set_speculative_decoding(enabled);
    PHYLLO_ASSERT_OK(gateway_.Generate(request).status);
    ASSERT_TRUE(gateway_.transformer.last_start().has_speculation());
    EXPECT_EQ(gateway_.transformer.last_start().speculation().enabled(), enabled);
  }
}

TEST_F(GenerationOptionsTest, BansTextsAsTheyAreAndAfterASpace) {
  Start();
  GenerateRequest request = TextRequest();
  request.add_banned_texts("ab");
  request.add_banned_texts("ab");
  PHYLLO_ASSERT_OK(gateway_.Generate(request).status);
  const auto banned = gateway_.transformer.last_start().sampling().banned_token_sequences();
  ASSERT_EQ(banned.size(), 2);
  EXPECT_THAT(banned[0].token_ids(), ElementsAre('a', 'b'));
  EXPECT_THAT(banned[1].token_ids(), ElementsAre(' ', 'a', 'b'));
}

TEST_F(GenerationOptionsTest, RejectsBannedTextOfTooManyTokens) {
  Start();
  GenerateRequest request = TextRequest();
  request.add_banned_texts(std::string(300, 'x'));
  const absl::Status status = gateway_.Generate(request).status;
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(GetInvalidField(status), "banned_texts[0]");
}

TEST_F(GenerationOptionsTest, SaysContextLimitWhenNobodyAskedForALength) {
  AnswerOneToken(common::v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(gateway_.Generate(TextRequest()).finished.finish_reason(),
            common::v1::FINISH_REASON_CONTEXT_LIMIT);
}

TEST_F(GenerationOptionsTest, SaysLengthWhenItWasAskedFor) {
  AnswerOneToken(common::v1::FINISH_REASON_LENGTH);
  GenerateRequest request = TextRequest();
  request.mutable_stopping()->set_max_new_tokens(1);
  EXPECT_EQ(gateway_.Generate(request).finished.finish_reason(), common::v1::FINISH_REASON_LENGTH);
}

TEST_F(GenerationOptionsTest, KeepsPromptLogprobsAndTimesWhenAStopSequenceEnds) {
  gateway_.transformer.script = [](grpc::ServerContext&, const transformer::v1::GenerateStart&,
                                   FakeTransformer::Stream& stream) {
    transformer::v1::GenerateResponse response;
    for (const int32_t id : {'x', 'y'}) {
      common::v1::PositionLogprobs& position = *response.mutable_prompt_logprobs()->add_logprobs();
      position.mutable_chosen()->set_token_id(id);
      position.add_top()->set_token_id('z');
    }
    stream.Write(response);
    response.mutable_prefilled()->mutable_latency()->mutable_prefill()->set_nanos(7);
    stream.Write(response);
    FakeTransformer::SendText("ab", 1, stream);
    FakeTransformer::WaitForCancel(stream);
    return grpc::Status::OK;
  };
  Start();
  GenerateRequest request = TextRequest();
  request.add_stop_sequences("b");
  request.mutable_output()->mutable_prompt_logprobs()->set_top_count(1);
  const Received received = gateway_.Generate(request);
  PHYLLO_ASSERT_OK(received.status);
  EXPECT_EQ(received.finished.finish_reason(), common::v1::FINISH_REASON_STOP_SEQUENCE);
  ASSERT_EQ(received.finished.prompt_logprobs_size(), 2);
  EXPECT_EQ(received.finished.prompt_logprobs(1).chosen().token(), "y");
  EXPECT_EQ(received.finished.prompt_logprobs(1).top(0).token(), "z");
  EXPECT_EQ(received.finished.latency().prefill().nanos(), 7);
}

TEST_F(GenerationOptionsTest, AnswersNeedsFromGivenRows) {
  gateway_.transformer.script = [](grpc::ServerContext&,
                                   const transformer::v1::GenerateStart& start,
                                   FakeTransformer::Stream& stream) {
    if (!start.prompt_is_hidden_states() || start.prompt_token_ids_size() != 3 ||
        start.prompt_token_ids(2) != -1)
      return grpc::Status(grpc::StatusCode::INTERNAL, "wrong start");
    for (int64_t first = 0; first < 2; ++first) {  // twice, as after a preemption
      transformer::v1::GenerateResponse need;
      need.mutable_need()->set_first_position(first);
      need.mutable_need()->set_count(2);
      stream.Write(need);
      transformer::v1::GenerateRequest rows;
      stream.Read(&rows);
      const float row = 10.0f * static_cast<float>(first + 1);
      const float values[] = {row, row + 1, row + 2, row + 10, row + 11, row + 12};
      const std::string expected(reinterpret_cast<const char*>(values), sizeof(values));
      if (rows.hidden_states().rows().data() != expected ||
          rows.hidden_states().first_position() != first)
        return grpc::Status(grpc::StatusCode::INTERNAL, "wrong rows");
    }
    FakeTransformer::SendText("Hi", 1, stream);
    FakeTransformer::SendFinished(common::v1::FINISH_REASON_EOS, stream);
    return grpc::Status::OK;
  };
  Start();
  GenerateRequest request;
  common::v1::Tensor& rows = *request.mutable_hidden_states();
  rows.set_data_type(common::v1::DATA_TYPE_F32);
  rows.add_shape(3);
  rows.add_shape(kFakeHiddenSize);
  const float values[] = {10, 11, 12, 20, 21, 22, 30, 31, 32};
  rows.set_data(values, sizeof(values));
  const Received received = gateway_.Generate(request);
  PHYLLO_ASSERT_OK(received.status);
  EXPECT_EQ(received.text, "Hi");
  EXPECT_EQ(received.finished.usage().prompt_token_count(), 3);
  EXPECT_EQ(gateway_.embedding.embed_count, 0);
  EXPECT_EQ(gateway_.tokenizer.encode_count, 0);
}

}  // namespace
}  // namespace phyllo
