// What a client sees when something is wrong: its request, a service, the load, or itself.
#include <chrono>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "services/gateway/testing/gateway_harness.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateRequest;
using gateway::v1::GenerateResponse;
using ::testing::AllOf;
using ::testing::HasSubstr;

GenerateRequest TextRequest(const std::string& text = "Say hello") {
  GenerateRequest request;
  request.set_text(text);
  return request;
}

// Sends "ab" and then waits until the call ends from outside.
FakeTransformer::Script SendThenHang(absl::Notification* cancelled = nullptr) {
  return [cancelled](grpc::ServerContext& context, const transformer::v1::GenerateStart&,
                     FakeTransformer::Stream& stream) {
    FakeTransformer::SendText("ab", 1, stream);
    FakeTransformer::WaitForCancel(stream);
    if (cancelled != nullptr && context.IsCancelled()) cancelled->Notify();
    return grpc::Status::OK;
  };
}

class GatewayFailureTest : public ::testing::Test {
 protected:
  void Start() {
    gateway_.Start();
    ASSERT_TRUE(gateway_.WaitForPath(true));
  }

  GatewayHarness gateway_;
};

TEST_F(GatewayFailureTest, ReturnsInvalidArgumentWithCountsForLongPrompt) {
  Start();
  const Received received = gateway_.Generate(TextRequest(std::string(64, 'x')));
  EXPECT_THAT(received.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("64 tokens"), HasSubstr("at most 63"))));
  EXPECT_EQ(GetReason(received.status)->reason, "PROMPT_TOO_LONG");
  EXPECT_EQ(gateway_.transformer.generate_count, 0);
}

TEST_F(GatewayFailureTest, NamesFieldThatIsNotSupported) {
  Start();
  GenerateRequest request = TextRequest();
  request.mutable_constraint()->set_json_schema("{}");
  EXPECT_EQ(GetInvalidField(gateway_.Generate(request).status), "constraint");
}

TEST_F(GatewayFailureTest, NamesTransformerThatDiesWhileAnswerStreams) {
  gateway_.transformer.script = SendThenHang();
  Start();
  grpc::ClientContext context;
  const auto stream = gateway_.stub().Generate(&context, TextRequest());
  GenerateResponse message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.delta().text(), "a");
  gateway_.StopTransformer();
  while (stream->Read(&message)) {
  }
  const absl::Status status = FromGrpcStatus(stream->Finish());
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kUnavailable, "the transformer service is unavailable"));
  EXPECT_EQ(GetReason(status)->metadata.at("service"), "transformer");
}

TEST_F(GatewayFailureTest, ServesTokenizeWhileTransformerIsDown) {
  Start();
  gateway_.StopTransformer();
  ASSERT_TRUE(gateway_.WaitForPath(false));
  EXPECT_THAT(gateway_.Generate(TextRequest()).status,
              StatusIs(absl::StatusCode::kUnavailable, "the transformer service is unavailable"));
  gateway::v1::TokenizeRequest request;
  request.set_text("ab");
  request.set_with_tokens(true);
  gateway::v1::TokenizeResponse response;
  grpc::ClientContext context;
  PHYLLO_ASSERT_OK(FromGrpcStatus(gateway_.stub().Tokenize(&context, request, &response)));
  EXPECT_EQ(response.token_ids_size(), 2);
  EXPECT_EQ(response.tokens(1), "b");
}

TEST_F(GatewayFailureTest, NamesEmbeddingThatIsDown) {
  Start();
  gateway_.StopEmbedding();
  EXPECT_THAT(gateway_.Generate(TextRequest()).status,
              StatusIs(absl::StatusCode::kUnavailable, "the embedding service is unavailable"));
}

TEST_F(GatewayFailureTest, FindsTokenizerAgainWhenItComesBack) {
  Start();
  gateway_.StopTokenizer();
  ASSERT_TRUE(gateway_.WaitForPath(false));
  gateway_.RestartTokenizer();
  ASSERT_TRUE(gateway_.WaitForPath(true));
  PHYLLO_EXPECT_OK(gateway_.Generate(TextRequest()).status);
}

TEST_F(GatewayFailureTest, GoesOnWithSecondTokenizerWhenFirstIsDown) {
  gateway_.StartSecondTokenizer();
  Start();
  gateway_.StopTokenizer();
  for (int i = 0; i < 4; ++i) {
    gateway::v1::TokenizeRequest request;
    request.set_text("x");
    gateway::v1::TokenizeResponse response;
    grpc::ClientContext context;
    PHYLLO_EXPECT_OK(FromGrpcStatus(gateway_.stub().Tokenize(&context, request, &response)));
  }
  EXPECT_EQ(gateway_.second_tokenizer.encode_count, 4);
}

TEST_F(GatewayFailureTest, TakesTurnsAmongTokenizers) {
  gateway_.StartSecondTokenizer();
  Start();
  for (int i = 0; i < 4; ++i) {
    gateway::v1::TokenizeRequest request;
    gateway::v1::TokenizeResponse response;
    grpc::ClientContext context;
    PHYLLO_EXPECT_OK(FromGrpcStatus(gateway_.stub().Tokenize(&context, request, &response)));
  }
  EXPECT_EQ(gateway_.tokenizer.encode_count, 2);
  EXPECT_EQ(gateway_.second_tokenizer.encode_count, 2);
}

TEST_F(GatewayFailureTest, RefusesServicesOfDifferentModels) {
  gateway_.embedding.info.mutable_fingerprint()->set_config_sha256(std::string(32, 'd'));
  gateway_.Start();
  // UNAVAILABLE until all have been asked once, then the reason.
  Received received;
  do {
    received = gateway_.Generate(TextRequest());
  } while (received.status.code() == absl::StatusCode::kUnavailable);
  EXPECT_THAT(received.status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("transformer #1"), HasSubstr("embedding #1"),
                             HasSubstr("config_sha256"))));
}

TEST_F(GatewayFailureTest, CancelsTransformerWhenClientCancels) {
  absl::Notification cancelled;
  gateway_.transformer.script = SendThenHang(&cancelled);
  Start();
  grpc::ClientContext context;
  const auto stream = gateway_.stub().Generate(&context, TextRequest());
  GenerateResponse message;
  ASSERT_TRUE(stream->Read(&message));
  context.TryCancel();
  EXPECT_TRUE(cancelled.WaitForNotificationWithTimeout(absl::Seconds(30)));
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(GatewayFailureTest, CancelsTransformerWhenDeadlinePasses) {
  absl::Notification cancelled;
  gateway_.transformer.script = SendThenHang(&cancelled);
  Start();
  const Received received = gateway_.Generate(TextRequest(), absl::Milliseconds(300));
  EXPECT_THAT(received.status, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(cancelled.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST_F(GatewayFailureTest, PassesOverloadOfTransformerOnWithRetryDelay) {
  gateway_.transformer.script = [](grpc::ServerContext&, const transformer::v1::GenerateStart&,
                                   FakeTransformer::Stream&) {
    return ToGrpcStatus(WithRetryDelay(
        absl::ResourceExhaustedError("256 requests wait, at most 256"), absl::Seconds(3)));
  };
  Start();
  const absl::Status status = gateway_.Generate(TextRequest()).status;
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 256")));
  EXPECT_EQ(GetRetryDelay(status), absl::Seconds(3));
}

TEST_F(GatewayFailureTest, NamesTransformerInItsInternalErrors) {
  gateway_.transformer.script = [](grpc::ServerContext&, const transformer::v1::GenerateStart&,
                                   FakeTransformer::Stream&) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "logits are not finite");
  };
  Start();
  EXPECT_THAT(gateway_.Generate(TextRequest()).status,
              StatusIs(absl::StatusCode::kInternal, "transformer: logits are not finite"));
}

TEST_F(GatewayFailureTest, ReturnsInternalWhenTransformerEndsWithoutFinalMessage) {
  gateway_.transformer.script = [](grpc::ServerContext&, const transformer::v1::GenerateStart&,
                                   FakeTransformer::Stream&) { return grpc::Status::OK; };
  Start();
  EXPECT_THAT(gateway_.Generate(TextRequest()).status,
              StatusIs(absl::StatusCode::kInternal, HasSubstr("without a final message")));
}

TEST(GatewayOverloadTest, RefusesRequestBeyondLimitAndTakesItLater) {
  GatewayHarnessOptions options;
  options.admission.max_requests = 1;
  GatewayHarness gateway(options);
  gateway.transformer.script = SendThenHang();
  gateway.Start();
  ASSERT_TRUE(gateway.WaitForPath(true));
  grpc::ClientContext context;
  const auto stream = gateway.stub().Generate(&context, TextRequest());
  GenerateResponse message;
  ASSERT_TRUE(stream->Read(&message));
  const Received refused = gateway.Generate(TextRequest());
  EXPECT_THAT(refused.status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 1")));
  EXPECT_TRUE(GetRetryDelay(refused.status).has_value());
  context.TryCancel();
  while (stream->Read(&message)) {
  }
  // The place is free once the first call has ended in the gateway, a moment after it has ended
  // here.
  GenerateRequest invalid = TextRequest();
  invalid.set_choice_count(0);
  Received later;
  do {
    later = gateway.Generate(invalid);
  } while (later.status.code() == absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(later.status, StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(GatewaySlowClientTest, CancelsClientThatDoesNotRead) {
  GatewayHarnessOptions options;
  options.max_client_stall = absl::Milliseconds(200);
  GatewayHarness gateway(options);
  absl::Notification cancelled;
  gateway.transformer.script = [&cancelled](grpc::ServerContext& context,
                                            const transformer::v1::GenerateStart&,
                                            FakeTransformer::Stream& stream) {
    // More than the buffers on the way hold; ends when the gateway gives the call up.
    transformer::v1::GenerateResponse response;
    response.mutable_tokens()->mutable_token_ids()->Resize(60'000, 'x');
    while (!context.IsCancelled() && stream.Write(response)) {
    }
    cancelled.Notify();
    return grpc::Status::OK;
  };
  gateway.Start();
  ASSERT_TRUE(gateway.WaitForPath(true));
  grpc::ClientContext context;
  const auto stream = gateway.stub().Generate(&context, TextRequest());
  EXPECT_TRUE(cancelled.WaitForNotificationWithTimeout(absl::Seconds(60)));
  GenerateResponse message;
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace phyllo
