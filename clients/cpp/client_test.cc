#include "clients/cpp/client.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "clients/cpp/testing/fake_gateway.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(client_, Client::Connect(gateway_.address()));
  }

  static gateway::v1::GenerateRequest Prompt(const std::string& text) {
    gateway::v1::GenerateRequest request;
    request.set_text(text);
    return request;
  }

  FakeGateway gateway_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, RefusesEmptyAddress) {
  EXPECT_THAT(Client::Connect(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("host:port")));
}

TEST_F(ClientTest, GenerateShowsEveryMessageAndCollectsTheAnswer) {
  gateway_.on_generate = AnswerWith({"a ", "b"});
  std::vector<std::string> seen;

  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const gateway::v1::GenerateUnaryResponse answer,
      client_->Generate(Prompt("x"), {}, [&](const gateway::v1::GenerateResponse& message) {
        seen.push_back(message.has_delta() ? message.delta().text() : "finished");
      }));

  EXPECT_THAT(seen, ElementsAre("a ", "b", "finished"));
  ASSERT_EQ(answer.choices_size(), 1);
  EXPECT_EQ(answer.choices(0).answer().text(), "a b");
  EXPECT_EQ(answer.choices(0).finished().finish_reason(), common::v1::FINISH_REASON_EOS);
}

TEST_F(ClientTest, GenerateKeepsInterleavedChoicesApart) {
  gateway_.on_generate = [](grpc::ServerContext&, const auto&,
                            FakeGateway::GenerateWriter& writer) {
    for (const auto& message : {DeltaMessage("B", 1), DeltaMessage("A", 0), DeltaMessage("b", 1),
                                FinishedMessage(1), FinishedMessage(0)}) {
      writer.Write(message);
    }
    return grpc::Status::OK;
  };

  PHYLLO_ASSERT_OK_AND_ASSIGN(const gateway::v1::GenerateUnaryResponse answer,
                              client_->Generate(Prompt("x")));

  ASSERT_EQ(answer.choices_size(), 2);
  EXPECT_EQ(answer.choices(0).answer().text(), "A");
  EXPECT_EQ(answer.choices(1).answer().text(), "Bb");
}

TEST_F(ClientTest, GenerateSendsTheRequestUnchanged) {
  gateway::v1::GenerateRequest received;
  gateway_.on_generate = [&](grpc::ServerContext&, const auto& request,
                             FakeGateway::GenerateWriter&) {
    received = request;
    return grpc::Status::OK;
  };
  gateway::v1::GenerateRequest request = Prompt("hello");
  request.mutable_sampling()->set_temperature(0);

  PHYLLO_ASSERT_OK(client_->Generate(request));

  EXPECT_EQ(received.SerializeAsString(), request.SerializeAsString());
}

TEST_F(ClientTest, GenerateReturnsTheServersStatusWithDetails) {
  gateway_.on_generate = [](grpc::ServerContext&, const auto&, FakeGateway::GenerateWriter&) {
    return ToGrpcStatus(InvalidField("sampling.top_p", "must be in (0, 1], is 1.5"));
  };

  const auto answer = client_->Generate(Prompt("x"));

  EXPECT_THAT(answer,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be in (0, 1], is 1.5")));
  EXPECT_THAT(GetInvalidField(answer.status()), Optional(Eq("sampling.top_p")));
}

TEST_F(ClientTest, GenerateReturnsTheRetryDelayOfAnOverload) {
  gateway_.on_generate = [](grpc::ServerContext&, const auto&, FakeGateway::GenerateWriter&) {
    return ToGrpcStatus(
        WithRetryDelay(absl::ResourceExhaustedError("queue is full"), absl::Seconds(2)));
  };

  const auto answer = client_->Generate(Prompt("x"));

  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kResourceExhausted, Eq("queue is full")));
  EXPECT_THAT(GetRetryDelay(answer.status()), Optional(Eq(absl::Seconds(2))));
}

TEST_F(ClientTest, NamesTheAddressWhenNobodyListens) {
  gateway_.Stop();
  EXPECT_THAT(client_->GetModel({}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(gateway_.address())));
}

TEST_F(ClientTest, TimeoutEndsTheCall) {
  gateway_.on_generate = [](grpc::ServerContext& context, const auto&,
                            FakeGateway::GenerateWriter& writer) {
    while (!context.IsCancelled()) writer.Write(DeltaMessage("x"));
    return grpc::Status::CANCELLED;
  };
  EXPECT_THAT(client_->Generate(Prompt("x"), {.timeout = absl::Milliseconds(50)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(ClientTest, StreamEndsOnceAndStaysEnded) {
  gateway_.on_generate = AnswerWith({"a"});
  const std::unique_ptr<GenerateStream> stream = client_->StreamGenerate(Prompt("x"));

  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto delta, stream->Next());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto finished, stream->Next());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto end, stream->Next());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto still_the_end, stream->Next());

  EXPECT_TRUE(delta.has_value() && delta->has_delta());
  EXPECT_TRUE(finished.has_value() && finished->has_finished());
  EXPECT_FALSE(end.has_value());
  EXPECT_FALSE(still_the_end.has_value());
}

TEST_F(ClientTest, CancelFromAnotherThreadEndsTheStreamAndReachesTheServer) {
  absl::Notification server_saw_it;
  gateway_.on_generate = [&](grpc::ServerContext& context, const auto&,
                             FakeGateway::GenerateWriter& writer) {
    while (!context.IsCancelled()) writer.Write(DeltaMessage("x"));
    server_saw_it.Notify();
    return grpc::Status::CANCELLED;
  };
  const std::unique_ptr<GenerateStream> stream = client_->StreamGenerate(Prompt("x"));
  PHYLLO_ASSERT_OK(stream->Next());

  std::thread canceller([&] { stream->Cancel(); });
  absl::StatusOr<std::optional<gateway::v1::GenerateResponse>> next;
  do next = stream->Next();
  while (next.ok());
  canceller.join();

  EXPECT_THAT(next, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(server_saw_it.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST_F(ClientTest, DroppingAStreamCancelsTheCall) {
  absl::Notification server_saw_it;
  gateway_.on_generate = [&](grpc::ServerContext& context, const auto&,
                             FakeGateway::GenerateWriter& writer) {
    while (!context.IsCancelled()) writer.Write(DeltaMessage("x"));
    server_saw_it.Notify();
    return grpc::Status::CANCELLED;
  };
  std::unique_ptr<GenerateStream> stream = client_->StreamGenerate(Prompt("x"));
  PHYLLO_ASSERT_OK(stream->Next());

  stream.reset();

  EXPECT_TRUE(server_saw_it.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST_F(ClientTest, StreamOutlivesTheClient) {
  gateway_.on_generate = AnswerWith({"a"});
  const std::unique_ptr<GenerateStream> stream = client_->StreamGenerate(Prompt("x"));

  client_.reset();

  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto message, stream->Next());
  EXPECT_TRUE(message.has_value());
}

TEST_F(ClientTest, ScorePutsTheChunksTogether) {
  gateway_.on_score = [](const auto&, grpc::ServerWriter<gateway::v1::ScoreResponse>& writer) {
    gateway::v1::ScoreResponse chunk;
    chunk.add_logprobs()->mutable_chosen()->set_token_id(1);
    writer.Write(chunk);
    chunk.mutable_logprobs(0)->mutable_chosen()->set_token_id(2);
    chunk.mutable_summary()->set_total_logprob(-3.5);
    writer.Write(chunk);
    return grpc::Status::OK;
  };

  PHYLLO_ASSERT_OK_AND_ASSIGN(const gateway::v1::ScoreResponse scores, client_->Score({}));

  ASSERT_EQ(scores.logprobs_size(), 2);
  EXPECT_EQ(scores.logprobs(1).chosen().token_id(), 2);
  EXPECT_EQ(scores.summary().total_logprob(), -3.5);
}

TEST_F(ClientTest, TokenizeReturnsTheResponse) {
  gateway_.on_tokenize = [](const gateway::v1::TokenizeRequest& request,
                            gateway::v1::TokenizeResponse& response) {
    response.add_token_ids(static_cast<int>(request.text().size()));
    return grpc::Status::OK;
  };
  gateway::v1::TokenizeRequest request;
  request.set_text("four");

  PHYLLO_ASSERT_OK_AND_ASSIGN(const gateway::v1::TokenizeResponse response,
                              client_->Tokenize(request));

  EXPECT_THAT(response.token_ids(), ElementsAre(4));
}

TEST_F(ClientTest, UnaryCallReturnsTheServersStatus) {
  EXPECT_THAT(client_->Detokenize({}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("Detokenize")));
}

}  // namespace
}  // namespace phyllo
