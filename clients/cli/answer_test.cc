#include "clients/cli/answer.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <sstream>
#include <utility>

#include "clients/cpp/testing/fake_gateway.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

class AnswerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(client_, Client::Connect(gateway_.address()));
  }

  Answer Ask(bool err_is_terminal, const gateway::v1::GenerateRequest& request = {}) {
    Terminal terminal = {in_, out_, err_, false, err_is_terminal};
    return GenerateToTerminal(*client_, request, {}, interrupts_, terminal);
  }

  Interrupts interrupts_;
  FakeGateway gateway_;
  std::unique_ptr<Client> client_;
  std::stringstream in_, out_, err_;
};

TEST_F(AnswerTest, WritesTextAndANewlineAndNothingElseIntoAPipe) {
  gateway_.on_generate = AnswerWith({"Once", " more"});
  EXPECT_THAT(Ask(false).status, IsOk());
  EXPECT_EQ(out_.str(), "Once more\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(AnswerTest, AddsNoNewlineToATextThatEndsWithOne) {
  gateway_.on_generate = AnswerWith({"Once\n"});
  Ask(false);
  EXPECT_EQ(out_.str(), "Once\n");
}

TEST_F(AnswerTest, ShowsPrefillAndSpeedOnATerminal) {
  gateway_.on_generate = [](grpc::ServerContext&, const auto&,
                            FakeGateway::GenerateWriter& writer) {
    gateway::v1::GenerateResponse progress;
    progress.mutable_prefill_progress()->set_done_token_count(1);
    progress.mutable_prefill_progress()->set_total_token_count(3);
    writer.Write(progress);
    writer.Write(DeltaMessage("text"));
    writer.Write(FinishedMessage());
    return grpc::Status::OK;
  };
  Ask(true);
  EXPECT_EQ(out_.str(), "text\n");
  EXPECT_THAT(err_.str(), HasSubstr("1 of 3 tokens"));
  EXPECT_THAT(err_.str(), HasSubstr("2.0 tokens/s"));
}

TEST_F(AnswerTest, ShowsSeveralChoicesOneByOne) {
  gateway_.on_generate = [](grpc::ServerContext&, const auto&,
                            FakeGateway::GenerateWriter& writer) {
    for (const auto& message :
         {DeltaMessage("b", 1), DeltaMessage("a", 0), FinishedMessage(0), FinishedMessage(1)})
      writer.Write(message);
    return grpc::Status::OK;
  };
  gateway::v1::GenerateRequest request;
  request.set_choice_count(2);
  Ask(false, request);
  EXPECT_EQ(out_.str(), "[choice 0]\na\n[choice 1]\nb\n");
}

TEST_F(AnswerTest, KeepsWhatCameBeforeAnError) {
  gateway_.on_generate = [](grpc::ServerContext&, const auto&,
                            FakeGateway::GenerateWriter& writer) {
    writer.Write(DeltaMessage("half"));
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the transformer is gone");
  };
  const Answer answer = Ask(false);
  EXPECT_THAT(answer.status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the transformer is gone")));
  EXPECT_EQ(answer.response.choices(0).answer().text(), "half");
  EXPECT_EQ(out_.str(), "half\n");
}

TEST_F(AnswerTest, AnInterruptCancelsTheCall) {
  gateway_.on_generate = [](grpc::ServerContext& context, const auto&,
                            FakeGateway::GenerateWriter& writer) {
    writer.Write(DeltaMessage("half"));
    while (!context.IsCancelled()) writer.Write(DeltaMessage(""));
    return grpc::Status::CANCELLED;
  };
  // When the first message is there: a cancelled call may lose what is still on its way.
  bool interrupted = false;
  const Answer answer = Generate(*client_, {}, {}, interrupts_, [&](const auto&) {
    if (!std::exchange(interrupted, true)) kill(getpid(), SIGINT);
  });
  EXPECT_THAT(answer.status, StatusIs(absl::StatusCode::kCancelled, "interrupted"));
  ASSERT_EQ(answer.response.choices_size(), 1);
  EXPECT_EQ(answer.response.choices(0).answer().text(), "half");
}

TEST_F(AnswerTest, DescribesSpeedWithoutCountingTheFirstToken) {
  const gateway::v1::GenerateResponse message = FinishedMessage();
  EXPECT_EQ(
      DescribeSpeed(message.finished()),
      "[2 tokens, 2.0 tokens/s; prompt 3 tokens, 0.00 s to the first; end of sequence; seed 7]");
}

}  // namespace
}  // namespace phyllo
