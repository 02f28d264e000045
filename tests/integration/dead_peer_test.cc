// kill -9 of each service while a client streams: a clear error, and the others live on.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

class DeadPeerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(services_, RunningServices::Start());
    PHYLLO_ASSERT_OK_AND_ASSIGN(golden_, ReadGoldenCases());
  }

  // Streams, kills `kind` after the first message, and returns the status of the stream.
  absl::Status StatusWhenKilledWhileStreaming(ServiceKind kind) {
    grpc::ClientContext context;
    const auto stream =
        services_->stub().Generate(&context, GreedyRequest(golden_[0].input_ids, 1900));
    gateway::v1::GenerateResponse message;
    EXPECT_TRUE(stream->Read(&message));
    services_->Kill(kind);
    while (stream->Read(&message)) {
    }
    return FromGrpcStatus(stream->Finish());
  }

  std::unique_ptr<RunningServices> services_;
  std::vector<GoldenCase> golden_;
};

TEST_F(DeadPeerTest, NamesTransformerAndTokenizerLivesOn) {
  const absl::Status status = StatusWhenKilledWhileStreaming(ServiceKind::kTransformer);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("transformer")));
  EXPECT_EQ(GetReason(status)->metadata.at("service"), "transformer");
  EXPECT_FALSE(services_->Tokenize("alive").empty());
  EXPECT_THAT(services_->Generate(GreedyRequest(golden_[0].input_ids, 1)).status,
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(DeadPeerTest, NamesTokenizerAndOthersLiveOn) {
  EXPECT_THAT(StatusWhenKilledWhileStreaming(ServiceKind::kTokenizer),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("tokenizer")));
  // The next call finds it gone; from then on it is listed so.
  grpc::ClientContext tokenize_context;
  gateway::v1::TokenizeResponse tokenized;
  EXPECT_THAT(FromGrpcStatus(services_->stub().Tokenize(&tokenize_context, {}, &tokenized)),
              StatusIs(absl::StatusCode::kUnavailable, "the tokenizer service is unavailable"));
  grpc::ClientContext context;
  gateway::v1::GetModelResponse model;
  ASSERT_TRUE(services_->stub().GetModel(&context, {}, &model).ok());
  for (const gateway::v1::Backend& backend : model.backends())
    EXPECT_EQ(backend.available(), backend.service() != "tokenizer");
}

TEST_F(DeadPeerTest, FinishesRunningAnswerWithoutEmbeddingAndNamesItForTheNext) {
  // The rows of the prompt are with the transformer when the first token is out.
  PHYLLO_EXPECT_OK(StatusWhenKilledWhileStreaming(ServiceKind::kEmbedding));
  EXPECT_THAT(services_->Generate(GreedyRequest(golden_[0].input_ids, 1)).status,
              StatusIs(absl::StatusCode::kUnavailable, "the embedding service is unavailable"));
  EXPECT_FALSE(services_->Tokenize("alive").empty());
}

TEST_F(DeadPeerTest, ReturnsUnavailableWhenGatewayDies) {
  EXPECT_THAT(StatusWhenKilledWhileStreaming(ServiceKind::kGateway),
              StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace phyllo
