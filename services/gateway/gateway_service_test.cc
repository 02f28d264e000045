// The calls of the public interface that are not generations.
#include "services/gateway/gateway_service.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "services/gateway/testing/gateway_harness.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GatewayServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway_.Start();
    ASSERT_TRUE(gateway_.WaitForPath(true));
  }

  // All messages of a scoring.
  std::vector<gateway::v1::ScoreResponse> Score(const gateway::v1::ScoreRequest& request,
                                                absl::Status& status) {
    const auto stream = gateway_.stub().Score(&context_, request);
    std::vector<gateway::v1::ScoreResponse> messages;
    for (gateway::v1::ScoreResponse message; stream->Read(&message);) messages.push_back(message);
    status = FromGrpcStatus(stream->Finish());
    return messages;
  }

  GatewayHarness gateway_;
  grpc::ClientContext context_;
};

TEST_F(GatewayServiceTest, DetokenizesIds) {
  gateway::v1::DetokenizeRequest request;
  for (const int32_t id : {'o', 'k'}) request.add_token_ids(id);
  gateway::v1::DetokenizeResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(gateway_.stub().Detokenize(&context_, request, &response)));
  EXPECT_EQ(response.text(), "ok");
}

TEST(GatewayLookupTest, CallsOfTheTokenizerCountTheirBytes) {
  GatewayHarness gateway(
      {.admission = {.max_requests = 1, .max_request_bytes = TokenizerCalls::kCallBytes + 4096}});
  gateway.Start();
  ASSERT_TRUE(gateway.WaitForPath(true));
  gateway::v1::TokenizeRequest request;
  request.set_text(std::string(8192, 'a'));
  gateway::v1::TokenizeResponse response;
  grpc::ClientContext context, second_context;
  EXPECT_THAT(FromGrpcStatus(gateway.stub().Tokenize(&context, request, &response)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_request_bytes")));
  request.set_text("ok");
  PHYLLO_EXPECT_OK(FromGrpcStatus(gateway.stub().Tokenize(&second_context, request, &response)));
}

TEST_F(GatewayServiceTest, RendersChat) {
  gateway::v1::RenderChatRequest request;
  common::v1::ChatMessage& message = *request.mutable_chat()->add_messages();
  message.set_role("user");
  message.set_content("x");
  gateway::v1::RenderChatResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(gateway_.stub().RenderChat(&context_, request, &response)));
  EXPECT_EQ(response.text(), "user:x|");
  EXPECT_EQ(response.token_ids_size(), 7);
}

TEST_F(GatewayServiceTest, ListsServedModel) {
  gateway::v1::ListModelsResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(gateway_.stub().ListModels(&context_, {}, &response)));
  EXPECT_THAT(response.models(), ElementsAre("toy"));
}

TEST_F(GatewayServiceTest, DescribesModelAndServers) {
  gateway::v1::GetModelResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(gateway_.stub().GetModel(&context_, {}, &response)));
  EXPECT_EQ(response.model(), "toy");
  EXPECT_EQ(response.max_sequence_length(), kFakeMaxSequenceLength);
  EXPECT_TRUE(response.has_chat_template());
  ASSERT_EQ(response.backends_size(), 3);
  EXPECT_EQ(response.backends(0).service(), "tokenizer");
  EXPECT_TRUE(response.backends(2).available());
  EXPECT_EQ(response.gateway().proto_version_major(), kProtoVersionMajor);
}

TEST_F(GatewayServiceTest, ReturnsNotFoundForUnknownModel) {
  gateway::v1::GetModelRequest request;
  request.set_model("other");
  gateway::v1::GetModelResponse response;
  EXPECT_THAT(FromGrpcStatus(gateway_.stub().GetModel(&context_, request, &response)),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(GatewayServiceTest, ScoresAllButTheFirstTokenOfText) {
  gateway::v1::ScoreRequest request;
  request.set_text("abcdef");
  absl::Status status;
  const std::vector<gateway::v1::ScoreResponse> messages = Score(request, status);
  PHYLLO_ASSERT_OK(status);
  ASSERT_EQ(messages.size(), 6);
  EXPECT_EQ(messages[0].logprobs(0).chosen().token_id(), 'b');
  EXPECT_EQ(messages[0].logprobs(0).chosen().token(), "b");
  EXPECT_EQ(messages[5].summary().total_logprob(), -5);
  EXPECT_NEAR(messages[5].summary().perplexity(), 2.718281828, 1e-6);
}

TEST_F(GatewayServiceTest, ScoresContinuationOnly) {
  gateway::v1::ScoreRequest request;
  request.set_text("abc");
  request.set_continuation("de");
  absl::Status status;
  const std::vector<gateway::v1::ScoreResponse> messages = Score(request, status);
  PHYLLO_ASSERT_OK(status);
  ASSERT_EQ(messages.size(), 3);
  EXPECT_EQ(messages[0].logprobs(0).chosen().token_id(), 'd');
  EXPECT_EQ(messages[2].summary().total_logprob(), -2);
}

TEST_F(GatewayServiceTest, ScoresAContinuationOfIds) {
  gateway::v1::ScoreRequest request;
  for (const int32_t id : {'a', 'b'}) request.mutable_token_ids()->add_ids(id);
  request.set_continuation("c");
  absl::Status status;
  const std::vector<gateway::v1::ScoreResponse> messages = Score(request, status);
  PHYLLO_ASSERT_OK(status);
  ASSERT_EQ(messages.size(), 2);
  EXPECT_EQ(messages[0].logprobs(0).chosen().token_id(), 'c');
}

// The fake joins "x" and a "y" behind it to one token, as a byte pair would be.
TEST_F(GatewayServiceTest, ScoresATokenAcrossTheBoundaryWhole) {
  gateway::v1::ScoreRequest request;
  request.set_text("ax");
  request.set_continuation("yz");
  absl::Status status;
  const std::vector<gateway::v1::ScoreResponse> messages = Score(request, status);
  PHYLLO_ASSERT_OK(status);
  ASSERT_EQ(messages.size(), 3);
  EXPECT_EQ(messages[0].logprobs(0).chosen().token_id(), kFakePairXy);
  EXPECT_EQ(messages[1].logprobs(0).chosen().token_id(), 'z');
}

TEST_F(GatewayServiceTest, RejectsAContinuationThatSwallowsItsContext) {
  gateway::v1::ScoreRequest request;
  request.set_text("x");
  request.set_continuation("yz");
  absl::Status status;
  Score(request, status);
  EXPECT_EQ(GetInvalidField(status), "text");
}

TEST_F(GatewayServiceTest, RejectsScoringOfSingleToken) {
  gateway::v1::ScoreRequest request;
  request.set_text("a");
  absl::Status status;
  Score(request, status);
  EXPECT_EQ(GetInvalidField(status), "input");
}

}  // namespace
}  // namespace phyllo
