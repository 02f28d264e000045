// Text through four real processes.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/message_limits.h"
#include "services/common/status_bridge.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateRequest;
using ::testing::HasSubstr;

// One set of processes for all tests here: none of them harms it.
class IntegrationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    absl::StatusOr<std::unique_ptr<RunningServices>> services = RunningServices::Start();
    ASSERT_TRUE(services.ok()) << services.status();
    services_ = services->release();
  }
  static void TearDownTestSuite() { delete services_; }

  void SetUp() override {
    ASSERT_NE(services_, nullptr);
    PHYLLO_ASSERT_OK_AND_ASSIGN(golden_, ReadGoldenCases());
  }

  static RunningServices* services_;
  std::vector<GoldenCase> golden_;
};

RunningServices* IntegrationTest::services_ = nullptr;

TEST_F(IntegrationTest, EqualsGoldenContinuations) {
  for (const GoldenCase& golden : golden_) {
    GenerateRequest request =
        GreedyRequest(golden.input_ids, static_cast<int>(golden.output_ids.size()));
    request.mutable_output()->set_special_tokens(true);
    const Answer answer = services_->Generate(request);
    PHYLLO_ASSERT_OK(answer.status);
    EXPECT_EQ(answer.token_ids, golden.output_ids);
    EXPECT_EQ(answer.text, golden.output_text);
    EXPECT_EQ(answer.finished.finish_reason(), common::v1::FINISH_REASON_LENGTH);
    EXPECT_EQ(answer.finished.usage().prompt_token_count(),
              static_cast<int64_t>(golden.input_ids.size()));
  }
}

TEST_F(IntegrationTest, ReproducesSampledAnswerFromReturnedSeed) {
  GenerateRequest request = GreedyRequest(golden_[0].input_ids, 40);
  request.mutable_sampling()->set_temperature(1);
  const Answer first = services_->Generate(request);
  PHYLLO_ASSERT_OK(first.status);
  *request.mutable_sampling() = first.finished.resolved().sampling();
  EXPECT_EQ(services_->Generate(request).token_ids, first.token_ids);
}

// A prompt of its own: what another test has left in the prefix cache must not be found here.
TEST_F(IntegrationTest, ChoicesShareThePromptAndAreThoseOfSmallerRequests) {
  constexpr int64_t kPageSize = 64;  // the transformer's default
  std::string text;
  for (int i = 0; i < 60; ++i) text += "Kite " + std::to_string(i) + " flies over the sea. ";
  std::vector<int32_t> prompt = services_->Tokenize(text);
  ASSERT_GE(prompt.size(), 3 * kPageSize);
  prompt.resize(3 * kPageSize);
  GenerateRequest request = GreedyRequest(prompt, 24);
  request.mutable_sampling()->set_temperature(1);
  request.mutable_sampling()->set_seed(7);

  std::vector<std::vector<std::vector<int32_t>>> answers;  // by request, by choice
  for (const int choice_count : {3, 1, 2}) {
    request.set_choice_count(choice_count);
    gateway::v1::GenerateUnaryRequest unary;
    *unary.mutable_request() = request;
    gateway::v1::GenerateUnaryResponse response;
    grpc::ClientContext context;
    PHYLLO_ASSERT_OK(FromGrpcStatus(services_->stub().GenerateUnary(&context, unary, &response)));
    ASSERT_EQ(response.choices_size(), choice_count);
    answers.emplace_back();
    for (const gateway::v1::Choice& choice : response.choices()) {
      answers.back().emplace_back(choice.answer().token_ids().begin(),
                                  choice.answer().token_ids().end());
      EXPECT_EQ(answers.back().back().size(), 24u);
    }
    // The first computes the whole pages, the others find all but that of the last token.
    const auto cached = [&](int k) {
      return response.choices(k).finished().usage().cached_prompt_token_count();
    };
    if (choice_count == 3) {
      EXPECT_LT(cached(0), kPageSize);
    }
    for (int k = 1; k < choice_count; ++k) EXPECT_GE(cached(k), 2 * kPageSize) << "choice " << k;
  }
  const std::vector<std::vector<int32_t>>& three = answers[0];
  EXPECT_NE(three[0], three[1]);
  EXPECT_NE(three[1], three[2]);
  EXPECT_NE(three[0], three[2]);
  EXPECT_EQ(answers[1][0], three[0]);
  EXPECT_EQ(answers[2][0], three[0]);
  EXPECT_EQ(answers[2][1], three[1]);
}

TEST_F(IntegrationTest, StopsAtSequenceThatSpansTokens) {
  // From the middle of one token to the middle of another that is not its neighbour.
  const std::string& text = golden_[0].output_text;
  const std::string stop = text.substr(23, 17);
  GenerateRequest request =
      GreedyRequest(golden_[0].input_ids, static_cast<int>(golden_[0].output_ids.size()));
  request.add_stop_sequences(stop);
  const Answer answer = services_->Generate(request);
  PHYLLO_ASSERT_OK(answer.status);
  EXPECT_EQ(answer.text, text.substr(0, text.find(stop)));
  EXPECT_EQ(answer.finished.finish_reason(), common::v1::FINISH_REASON_STOP_SEQUENCE);
  EXPECT_EQ(answer.finished.stop_sequence(), stop);
  EXPECT_EQ(answer.finished.usage().generated_token_count(),
            static_cast<int64_t>(answer.token_ids.size()));
  EXPECT_LT(answer.token_ids.size(), golden_[0].output_ids.size());
}

TEST_F(IntegrationTest, GivesNoPromptTextWhenPromptEndsInHalfCharacter) {
  std::vector<int32_t> prompt = services_->Tokenize("A kite \xF0\x9F\xAA\x81");
  ASSERT_GT(prompt.size(), 4) << "the character takes several tokens";
  prompt.pop_back();
  const Answer answer = services_->Generate(GreedyRequest(prompt, 8));
  PHYLLO_ASSERT_OK(answer.status);
  EXPECT_EQ(answer.token_ids.size(), 8);
  EXPECT_EQ(answer.text.find("A kite"), std::string::npos);
}

TEST_F(IntegrationTest, ServesManyStreamsAtOnceWithSameTokens) {
  constexpr int kStreamCount = 64;
  constexpr int kTokenCount = 24;
  std::vector<Answer> answers(kStreamCount);
  std::vector<std::thread> clients;
  for (int i = 0; i < kStreamCount; ++i) {
    clients.emplace_back([this, i, &answers] {
      answers[i] =
          services_->Generate(GreedyRequest(golden_[i % golden_.size()].input_ids, kTokenCount));
    });
  }
  for (std::thread& client : clients) client.join();
  for (int i = 0; i < kStreamCount; ++i) {
    PHYLLO_ASSERT_OK(answers[i].status);
    const std::vector<int32_t>& golden = golden_[i % golden_.size()].output_ids;
    EXPECT_EQ(answers[i].token_ids,
              std::vector<int32_t>(golden.begin(), golden.begin() + kTokenCount))
        << "stream " << i;
  }
}

TEST_F(IntegrationTest, EndsWithDeadlineExceededInTime) {
  const Answer answer =
      services_->Generate(GreedyRequest(golden_[0].input_ids, 1900), absl::Milliseconds(150));
  EXPECT_THAT(answer.status, StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(IntegrationTest, FreesEverythingWhenClientCancels) {
  grpc::ClientContext context;
  const auto stream =
      services_->stub().Generate(&context, GreedyRequest(golden_[0].input_ids, 1900));
  gateway::v1::GenerateResponse message;
  ASSERT_TRUE(stream->Read(&message));
  context.TryCancel();
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // What the gateway counts as under way goes back to nothing; each look is a call, so this is no
  // busy loop.
  int64_t outstanding = 1;
  for (int i = 0; i < 10'000 && outstanding > 0; ++i) {
    grpc::ClientContext look;
    gateway::v1::GetModelResponse model;
    ASSERT_TRUE(services_->stub().GetModel(&look, {}, &model).ok());
    outstanding = 0;
    for (const gateway::v1::Backend& backend : model.backends())
      outstanding += backend.outstanding_token_count();
  }
  EXPECT_EQ(outstanding, 0);
}

TEST_F(IntegrationTest, RefusesOversizedMessageAndGoesOn) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  const auto stub = gateway::v1::GatewayService::NewStub(grpc::CreateCustomChannel(
      services_->gateway_address(), grpc::InsecureChannelCredentials(), arguments));
  gateway::v1::TokenizeRequest request;
  request.set_text(std::string(kMaxMessageBytes + 1, 'x'));
  gateway::v1::TokenizeResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(stub->Tokenize(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_FALSE(services_->Tokenize("still here").empty());
}

TEST_F(IntegrationTest, NamesFieldOfTextThatIsTooLong) {
  GenerateRequest request;
  request.set_text(std::string(9 << 20, 'x'));
  const absl::Status status = services_->Generate(request).status;
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 8388608")));
  EXPECT_EQ(GetInvalidField(status), "text");
}

TEST_F(IntegrationTest, RejectsPromptLongerThanModelWithCounts) {
  const Answer answer = services_->Generate(GreedyRequest(std::vector<int32_t>(5000, 5), 1));
  EXPECT_THAT(answer.status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5000 tokens")));
  EXPECT_EQ(GetReason(answer.status)->reason, "PROMPT_TOO_LONG");
}

}  // namespace
}  // namespace phyllo
