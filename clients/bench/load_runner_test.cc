#include "clients/bench/load_runner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "clients/cpp/testing/fake_gateway.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::SizeIs;

gateway::v1::GenerateResponse Tokens(std::vector<int32_t> ids) {
  gateway::v1::GenerateResponse message;
  message.mutable_delta()->mutable_token_ids()->Assign(ids.begin(), ids.end());
  return message;
}

// Loads on a fake gateway that answers with 1, then 2 and 3 in one message.
class LoadRunnerTest : public ::testing::Test {
 protected:
  LoadRunnerTest() {
    options_.prompt_tokens = LengthDistribution(5);
    options_.num_requests = 6;
    gateway_.on_generate = [this](grpc::ServerContext& context,
                                  const gateway::v1::GenerateRequest& request,
                                  FakeGateway::GenerateWriter& writer) {
      int index = 0;
      {
        absl::MutexLock lock(&mutex_);
        index = static_cast<int>(requests_.size());
        requests_.push_back(request);
        peak_ = std::max(peak_, ++running_);
      }
      const grpc::Status status = answer_(index, context, writer);
      absl::MutexLock lock(&mutex_);
      --running_;
      return status;
    };
  }

  static grpc::Status AnswerThreeTokens(FakeGateway::GenerateWriter& writer) {
    gateway::v1::GenerateResponse progress;
    progress.mutable_prefill_progress()->set_done_token_count(5);
    writer.Write(progress);
    writer.Write(Tokens({1}));
    writer.Write(Tokens({2, 3}));
    writer.Write(DeltaMessage("the tail of the text, without a token"));
    gateway::v1::GenerateResponse finished = FinishedMessage();
    finished.mutable_finished()->mutable_usage()->set_cached_prompt_token_count(2);
    writer.Write(finished);
    return grpc::Status::OK;
  }

  LoadResult Run() {
    PHYLLO_EXPECT_OK(FinishLoadOptions(options_));
    absl::StatusOr<Workload> workload = Workload::Create(options_, 100, 10000, {});
    PHYLLO_EXPECT_OK(workload);
    return RunLoad(options_, *workload,
                   {.address = gateway_.address(), .interrupted = &interrupted_, .observer = {}});
  }

  std::vector<gateway::v1::GenerateRequest> Requests() {
    absl::MutexLock lock(&mutex_);
    return requests_;
  }

  LoadOptions options_;
  std::atomic<bool> interrupted_{false};
  // Gets the number of the call, from 0.
  std::function<grpc::Status(int, grpc::ServerContext&, FakeGateway::GenerateWriter&)> answer_ =
      [](int, grpc::ServerContext&, FakeGateway::GenerateWriter& writer) {
        return AnswerThreeTokens(writer);
      };
  absl::Mutex mutex_;
  std::vector<gateway::v1::GenerateRequest> requests_;  // guarded by mutex_
  int running_ = 0;
  int peak_ = 0;
  FakeGateway gateway_;  // Last: its calls end before the rest is gone.
};

TEST_F(LoadRunnerTest, CountsTokensAndMessages) {
  const LoadResult result = Run();
  EXPECT_EQ(result.completed_count, 6);
  EXPECT_EQ(result.failed_count(), 0);
  EXPECT_EQ(result.output_token_count, 18);
  EXPECT_EQ(result.message_count, 12);
  EXPECT_EQ(result.prompt_token_count, 30);
  EXPECT_EQ(result.cached_prompt_token_count, 12);
  EXPECT_EQ(result.peak_concurrency, 1);
  EXPECT_GT(result.seconds, 0);
}

TEST_F(LoadRunnerTest, MeasuresEachLatencyOnceWhereItBelongs) {
  const LoadResult result = Run();
  EXPECT_THAT(result.time_to_first_token, SizeIs(6));
  EXPECT_THAT(result.inter_token_latency, SizeIs(6));
  EXPECT_THAT(result.end_to_end_latency, SizeIs(6));
  ASSERT_THAT(result.time_per_output_token, SizeIs(6));
  for (size_t i = 0; i < 6; ++i) {
    // One message of two tokens followed the first.
    EXPECT_NEAR(result.time_per_output_token[i], result.inter_token_latency[i] / 2, 1e-9);
    EXPECT_LE(result.time_to_first_token[i] + result.inter_token_latency[i],
              result.end_to_end_latency[i]);
  }
}

TEST_F(LoadRunnerTest, ClosedLoopKeepsAsManyUnderWayAsAsked) {
  options_.concurrency = 3;
  // No call ends before three have come.
  answer_ = [this](int, grpc::ServerContext&, FakeGateway::GenerateWriter& writer) {
    {
      const auto three_came = [this] { return requests_.size() >= 3; };
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&three_came));
    }
    return AnswerThreeTokens(writer);
  };
  const LoadResult result = Run();
  EXPECT_EQ(result.completed_count, 6);
  EXPECT_EQ(result.peak_concurrency, 3);
  absl::MutexLock lock(&mutex_);
  EXPECT_LE(peak_, 3);
}

TEST_F(LoadRunnerTest, OpenLoopDoesNotWaitForAnswers) {
  options_.request_rate = 1000;
  options_.num_requests = 4;
  // With a closed loop of one stream this would never end.
  answer_ = [this](int, grpc::ServerContext&, FakeGateway::GenerateWriter& writer) {
    {
      const auto all_came = [this] { return requests_.size() == 4; };
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&all_came));
    }
    return AnswerThreeTokens(writer);
  };
  const LoadResult result = Run();
  EXPECT_EQ(result.completed_count, 4);
  EXPECT_EQ(result.peak_concurrency, 4);
}

TEST_F(LoadRunnerTest, OpenLoopMeasuresFromTheTimeARequestWasDue) {
  options_.request_rate = 100000;  // All are due at once,
  options_.concurrency = 1;        // and go one by one.
  const LoadResult result = Run();
  ASSERT_THAT(result.end_to_end_latency, SizeIs(6));
  EXPECT_TRUE(std::is_sorted(result.end_to_end_latency.begin(), result.end_to_end_latency.end()));
  EXPECT_EQ(result.peak_concurrency, 1);
}

TEST_F(LoadRunnerTest, ChatGoesOnWithItsAnswers) {
  options_.turns = 2;
  options_.num_requests = 4;
  Run();
  const std::vector<gateway::v1::GenerateRequest> requests = Requests();
  ASSERT_THAT(requests, SizeIs(4));
  const auto& first = requests[0].token_ids().ids();
  const auto& second = requests[1].token_ids().ids();
  EXPECT_EQ(first.size(), 5);
  ASSERT_EQ(second.size(), 5 + 3 + 5);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
  EXPECT_THAT(std::vector<int32_t>(second.begin() + 5, second.begin() + 8), ElementsAre(1, 2, 3));
  EXPECT_EQ(requests[2].token_ids().ids_size(), 5);
}

TEST_F(LoadRunnerTest, FailuresAreCountedByCodeAndNotMeasured) {
  answer_ = [](int index, grpc::ServerContext&, FakeGateway::GenerateWriter& writer) {
    if (index == 1 || index == 2)
      return ToGrpcStatus(absl::ResourceExhaustedError("the queue is full"));
    if (index == 3) return ToGrpcStatus(absl::InternalError("it broke"));
    return AnswerThreeTokens(writer);
  };
  const LoadResult result = Run();
  EXPECT_EQ(result.completed_count, 3);
  EXPECT_EQ(result.failed_count(), 3);
  EXPECT_EQ(result.errors.at(absl::StatusCode::kResourceExhausted).count, 2);
  EXPECT_EQ(result.errors.at(absl::StatusCode::kResourceExhausted).message, "the queue is full");
  EXPECT_EQ(result.errors.at(absl::StatusCode::kInternal).count, 1);
  EXPECT_THAT(result.end_to_end_latency, SizeIs(3));
}

TEST_F(LoadRunnerTest, WaitsAsLongAsAnOverloadedServerAsks) {
  options_.num_requests = 2;
  answer_ = [](int index, grpc::ServerContext&, FakeGateway::GenerateWriter& writer) {
    if (index > 0) return AnswerThreeTokens(writer);
    return ToGrpcStatus(
        WithRetryDelay(absl::ResourceExhaustedError("full"), absl::Milliseconds(50)));
  };
  EXPECT_GE(Run().seconds, 0.05);
}

TEST_F(LoadRunnerTest, GivesUpWhenNothingWorks) {
  options_.num_requests = 1000000;
  answer_ = [](int, grpc::ServerContext&, FakeGateway::GenerateWriter&) {
    return ToGrpcStatus(absl::InternalError("it broke"));
  };
  EXPECT_EQ(Run().failed_count(), 100);
}

TEST_F(LoadRunnerTest, RequestThatTakesTooLongFails) {
  options_.num_requests = 1;
  options_.timeout = absl::Milliseconds(20);
  // Owned by the handler too: a call may reach it after its client has given up.
  const auto ended = std::make_shared<absl::Notification>();
  answer_ = [ended](int, grpc::ServerContext&, FakeGateway::GenerateWriter&) {
    ended->WaitForNotification();
    return grpc::Status::OK;
  };
  const LoadResult result = Run();
  ended->Notify();
  EXPECT_EQ(result.errors.count(absl::StatusCode::kDeadlineExceeded), 1);
}

TEST_F(LoadRunnerTest, InterruptCancelsAndKeepsWhatWasMeasured) {
  options_.num_requests = 100;
  answer_ = [this](int index, grpc::ServerContext& context, FakeGateway::GenerateWriter& writer) {
    if (index < 2) return AnswerThreeTokens(writer);
    writer.Write(Tokens({1}));
    interrupted_ = true;
    while (!context.IsCancelled() && writer.Write(gateway::v1::GenerateResponse())) {
    }
    return grpc::Status::CANCELLED;
  };
  const LoadResult result = Run();
  EXPECT_EQ(result.completed_count, 2);
  EXPECT_EQ(result.cancelled_count, 1);
  EXPECT_EQ(result.failed_count(), 0);
  EXPECT_GE(result.output_token_count, 6);
}

TEST_F(LoadRunnerTest, NoRequestBeginsAfterTheDuration) {
  options_.num_requests = 0;
  options_.duration = absl::Milliseconds(30);
  // Those under way are answered to the end. On a machine that is slow enough there is none.
  const LoadResult result = Run();
  EXPECT_EQ(result.completed_count, Requests().size());
  EXPECT_EQ(result.failed_count(), 0);
}

}  // namespace
}  // namespace phyllo
