// Several choices of one request, through a gateway with fakes behind it.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using transformer::v1::GenerateStart;

// What a client received, by choice.
struct Choices {
  std::map<int32_t, std::string> texts;
  std::map<int32_t, gateway::v1::Finished> finished;
};

class ChoicesTest : public ::testing::Test {
 protected:
  // The text of choice i is "i" and as many dots; its tokens have log-probability `logprobs[i]`. 10
  // tokens were drafted for it, of which i were accepted.
  void SetScript(std::vector<float> logprobs) {
    gateway_->transformer.script = [this, logprobs](grpc::ServerContext&,
                                                    const GenerateStart& start,
                                                    FakeTransformer::Stream& stream) {
      {
        const absl::MutexLock lock(&mutex_);
        starts_.push_back(start);
      }
      if (!FakeTransformer::PullRows(start, 0, start.prompt_token_ids_size(), stream))
        return grpc::Status(grpc::StatusCode::INTERNAL, "wrong rows");
      const int32_t index = start.choice_index();
      transformer::v1::GenerateResponse response;
      for (const char c : absl::StrCat(index) + std::string(index, '.')) {
        response.mutable_tokens()->add_token_ids(c);
        if (start.has_logprobs())
          response.mutable_tokens()->add_logprobs()->mutable_chosen()->set_logprob(logprobs[index]);
      }
      stream.Write(response);
      response.mutable_finished()->set_finish_reason(common::v1::FINISH_REASON_LENGTH);
      response.mutable_finished()->mutable_usage()->set_drafted_token_count(10);
      response.mutable_finished()->mutable_usage()->set_accepted_token_count(index);
      stream.Write(response);
      return grpc::Status::OK;
    };
  }

  void Start(const GatewayHarnessOptions& options = {}) {
    auto script = gateway_->transformer.script;
    gateway_ = std::make_unique<GatewayHarness>(options);
    gateway_->transformer.script = std::move(script);
    gateway_->Start();
    ASSERT_TRUE(gateway_->WaitForPath(true));
  }

  static GenerateRequest Request(int32_t choice_count) {
    GenerateRequest request;
    request.set_text("Say hi");
    request.set_choice_count(choice_count);
    request.mutable_stopping()->set_max_new_tokens(8);
    return request;
  }

  static Choices Sort(const Received& received) {
    Choices choices;
    for (size_t i = 0; i < received.messages.size(); ++i) {
      const GenerateResponse& message = received.messages[i];
      EXPECT_EQ(message.sequence_number(), static_cast<int64_t>(i));
      EXPECT_EQ(choices.finished.count(message.choice_index()), 0u) << "behind the final message";
      choices.texts[message.choice_index()] += message.delta().text();
      if (message.has_finished()) choices.finished[message.choice_index()] = message.finished();
    }
    return choices;
  }

  std::vector<GenerateStart> starts() {
    const absl::MutexLock lock(&mutex_);
    return starts_;
  }

  std::unique_ptr<GatewayHarness> gateway_ = std::make_unique<GatewayHarness>();
  absl::Mutex mutex_;
  std::vector<GenerateStart> starts_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ChoicesTest, EveryChoiceHasItsTextItsEndAndItsRandomNumbers) {
  SetScript({});
  Start();
  const Received received = gateway_->Generate(Request(3));
  PHYLLO_ASSERT_OK(received.status);
  const Choices choices = Sort(received);
  EXPECT_THAT(choices.texts,
              ElementsAre(testing::Pair(0, "0"), testing::Pair(1, "1."), testing::Pair(2, "2..")));
  ASSERT_EQ(choices.finished.size(), 3u);
  EXPECT_EQ(choices.finished.at(2).usage().generated_token_count(), 3);
  ASSERT_EQ(starts().size(), 3u);
  for (const GenerateStart& start : starts())
    EXPECT_EQ(start.sampling().seed(), choices.finished.at(0).resolved().sampling().seed());
}

TEST_F(ChoicesTest, TheOthersStartWhenTheFirstHasComputedThePrompt) {
  absl::Notification other_runs;
  std::atomic<int> others = 0;
  gateway_->transformer.script = [&](grpc::ServerContext&, const GenerateStart& start,
                                     FakeTransformer::Stream& stream) {
    if (start.choice_index() > 0) ++others;
    FakeTransformer::PullRows(start, 0, start.prompt_token_ids_size(), stream);
    if (start.choice_index() == 0) {
      EXPECT_EQ(others, 0);
      FakeTransformer::SendText("a", 1, stream);
      other_runs.WaitForNotification();  // the others do not wait for its end
    } else {
      other_runs.Notify();
    }
    FakeTransformer::SendFinished(common::v1::FINISH_REASON_LENGTH, stream);
    return grpc::Status::OK;
  };
  Start();
  PHYLLO_EXPECT_OK(gateway_->Generate(Request(2)).status);
  EXPECT_EQ(others, 1);
}

TEST_F(ChoicesTest, BestOfReturnsTheLikeliestFirst) {
  SetScript({-3.0f, -1.0f, -4.0f, -0.5f});
  Start();
  GenerateRequest request = Request(2);
  request.set_best_of(4);
  const Received received = gateway_->Generate(request);
  PHYLLO_ASSERT_OK(received.status);
  const Choices choices = Sort(received);
  EXPECT_THAT(choices.texts, ElementsAre(testing::Pair(0, "3..."), testing::Pair(1, "1.")));
  EXPECT_EQ(choices.finished.at(0).usage().generated_token_count(), 4 + 1 + 3);
  EXPECT_EQ(choices.finished.at(0).usage().drafted_token_count(), 10 + 10 + 10);
  EXPECT_EQ(choices.finished.at(0).usage().accepted_token_count(), 3 + 0 + 2);
  EXPECT_EQ(choices.finished.at(1).usage().generated_token_count(), 2);
  EXPECT_EQ(choices.finished.at(1).usage().drafted_token_count(), 10);
  for (const GenerateResponse& message : received.messages)
    EXPECT_EQ(message.delta().logprobs_size(), 0);  // were not asked for
}

TEST_F(ChoicesTest, UnaryCallCollectsAllChoices) {
  SetScript({});
  Start();
  gateway::v1::GenerateUnaryRequest unary;
  *unary.mutable_request() = Request(3);
  gateway::v1::GenerateUnaryResponse response;
  grpc::ClientContext context;
  PHYLLO_ASSERT_OK(FromGrpcStatus(gateway_->stub().GenerateUnary(&context, unary, &response)));
  ASSERT_EQ(response.choices_size(), 3);
  EXPECT_EQ(response.choices(2).answer().text(), "2..");
  EXPECT_TRUE(response.choices(2).has_finished());
}

TEST_F(ChoicesTest, OneThatFailsEndsTheRequestWithItsStatus) {
  gateway_->transformer.script = [](grpc::ServerContext&, const GenerateStart& start,
                                    FakeTransformer::Stream& stream) {
    FakeTransformer::PullRows(start, 0, start.prompt_token_ids_size(), stream);
    if (start.choice_index() == 2)
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full");
    FakeTransformer::SendText("a", 1, stream);
    FakeTransformer::WaitForCancel(stream);
    return grpc::Status::CANCELLED;
  };
  Start();
  EXPECT_THAT(gateway_->Generate(Request(4)).status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("queue is full")));
}

TEST_F(ChoicesTest, CountsEveryChoiceAsARequestUnderWay) {
  absl::Notification running;
  gateway_->transformer.script = [&](grpc::ServerContext&, const GenerateStart& start,
                                     FakeTransformer::Stream& stream) {
    FakeTransformer::PullRows(start, 0, start.prompt_token_ids_size(), stream);
    FakeTransformer::SendText("a", 1, stream);
    if (start.choice_index() == 0) running.Notify();
    FakeTransformer::WaitForCancel(stream);
    return grpc::Status::CANCELLED;
  };
  Start({.admission = {.max_requests = 4}});
  grpc::ClientContext context;
  const auto stream = gateway_->stub().Generate(&context, Request(1));
  running.WaitForNotification();
  EXPECT_THAT(gateway_->Generate(Request(4)).status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 4")));
  context.TryCancel();
}

TEST_F(ChoicesTest, RefusesWhatDoesNotFitTogether) {
  Start();
  GenerateRequest request = Request(3);
  request.set_best_of(2);
  EXPECT_THAT(gateway_->Generate(request).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[3, 128]")));
  EXPECT_THAT(gateway_->Generate(Request(129)).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[1, 128]")));
}

}  // namespace
}  // namespace phyllo
