// How sequences end early: cancel, deadline, full queue, slow reader, broken numbers, drain.
// Stepped by hand.
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<int32_t> kPrompt = {1, 2, 3, 4, 5, 6};

TEST(EngineFailureTest, CancelsASequenceThatWaits) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_sequences = 1});
  FakeClient& running = driver.Add(EngineDriver::Request(kPrompt, 5));
  FakeClient& waiting = driver.Add(EngineDriver::Request(kPrompt, 5));
  driver.Step();
  driver.engine().Cancel(waiting.id);
  driver.Step();
  ASSERT_TRUE(waiting.result.has_value());
  EXPECT_THAT(waiting.result->status, StatusIs(absl::StatusCode::kCancelled));
  driver.Drive();
  PHYLLO_EXPECT_OK(running.result->status);
}

TEST(EngineFailureTest, CancelsASequenceThatWaitsForRows) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& client = driver.Add(EngineDriver::Request(kPrompt, 5));
  client.answers_needs = false;
  driver.Drive();
  driver.engine().Cancel(client.id);
  driver.Step();
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kCancelled));
}

TEST(EngineFailureTest, CancelsBetweenTwoPrefillChunksAndFreesPages) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 4});
  FakeClient& client = driver.Add(EngineDriver::Request(kPrompt, 5));
  driver.Step();
  driver.Step();
  ASSERT_EQ(model.page_allocator().free_count(), 99);
  driver.engine().Cancel(client.id);
  driver.Step();
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(model.page_allocator().free_count(), 100);
  EXPECT_THAT(model.steps(), SizeIs(1));
}

TEST(EngineFailureTest, CancelsAtEveryTokenWithinOneStep) {
  for (size_t token_count = 0; token_count < 6; ++token_count) {
    FakeStepModel model(100, 4);
    EngineDriver driver(model);
    FakeClient& client = driver.Add(EngineDriver::Request(kPrompt, 100));
    FakeClient& other = driver.Add(EngineDriver::Request(kPrompt, 10));
    while (client.tokens.size() < token_count) ASSERT_TRUE(driver.Step());
    driver.engine().Cancel(client.id);
    driver.Step();
    ASSERT_TRUE(client.result.has_value());
    EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kCancelled));
    EXPECT_THAT(client.tokens, SizeIs(token_count));
    EXPECT_EQ(client.result->generated_token_count, token_count);
    driver.Drive();
    EXPECT_EQ(other.token_ids(), FakeStepModel::GreedyContinuation(kPrompt, 10));
    EXPECT_EQ(model.page_allocator().free_count(), 100);
  }
}

TEST(EngineFailureTest, CancelsAPreemptedSequence) {
  FakeStepModel model(5, 4);
  EngineDriver driver(model);
  FakeClient& first = driver.Add(EngineDriver::Request({1, 2, 3, 4}, 14));
  FakeClient& second = driver.Add(EngineDriver::Request({5, 6, 7, 8}, 12));
  while (driver.engine().stats().preemption_count == 0) ASSERT_TRUE(driver.Step());
  driver.engine().Cancel(second.id);
  driver.Drive();
  EXPECT_THAT(second.result->status, StatusIs(absl::StatusCode::kCancelled));
  PHYLLO_EXPECT_OK(first.result->status);
}

TEST(EngineFailureTest, CancelOfAnEndedSequenceDoesNothing) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& client = driver.Add(EngineDriver::Request(kPrompt, 2));
  driver.Drive();
  driver.engine().Cancel(client.id);
  driver.engine().Cancel(12345);
  driver.Drive();
  PHYLLO_EXPECT_OK(client.result->status);
}

TEST(EngineFailureTest, DeadlineEndsWithinOneStep) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(kPrompt, 100);
  request.deadline = driver.now() + absl::Seconds(10);
  FakeClient& client = driver.Add(request);
  for (int i = 0; i < 4; ++i) driver.Step();
  ASSERT_FALSE(client.result.has_value());
  driver.Advance(absl::Seconds(10));
  driver.Step();
  ASSERT_TRUE(client.result.has_value());
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(model.page_allocator().free_count(), 100);
}

TEST(EngineFailureTest, DeadlineInThePastIsRefused) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(kPrompt, 100);
  request.deadline = driver.now();
  EXPECT_THAT(driver.TrySubmit(request), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(EngineFailureTest, TimeLimitEndsWithItsOwnReason) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(kPrompt, 100);
  request.time_limit = absl::Seconds(10);
  FakeClient& client = driver.Add(request);
  for (int i = 0; i < 4; ++i) driver.Step();
  driver.Advance(absl::Seconds(10));
  driver.Step();
  PHYLLO_EXPECT_OK(client.result->status);
  EXPECT_EQ(client.result->finish_reason, FinishReason::kTimeLimit);
}

TEST(EngineFailureTest, EndsASequenceWhoseRowsDoNotArrive) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_rows_wait = absl::Seconds(3)});
  FakeClient& client = driver.Add(EngineDriver::Request(kPrompt, 5));
  client.answers_needs = false;
  driver.Drive();
  driver.Advance(absl::Seconds(3));
  driver.Step();
  EXPECT_THAT(client.result->status,
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("did not arrive within 3s")));
}

TEST(EngineFailureTest, EndsASequenceThatSendsUnaskedRows) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& client = driver.Add(EngineDriver::Request(kPrompt, 5));
  driver.Provide(client, {2, 1});
  driver.Step();
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(EngineFailureTest, RefusesMoreThanTheWaitingSequences) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_sequences = 1, .max_queue_sequences = 2});
  driver.Add(EngineDriver::Request(kPrompt, 5));
  driver.Step();
  driver.Add(EngineDriver::Request(kPrompt, 5));
  FakeClient& last = driver.Add(EngineDriver::Request(kPrompt, 5));
  EXPECT_THAT(
      driver.TrySubmit(EngineDriver::Request(kPrompt, 5)),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_queue_sequences is 2")));
  driver.engine().Cancel(last.id);
  driver.Step();
  driver.Add(EngineDriver::Request(kPrompt, 5));
}

TEST(EngineFailureTest, RefusesMoreThanTheWaitingTokens) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_queue_tokens = 13});
  driver.Add(EngineDriver::Request(kPrompt, 5));
  driver.Add(EngineDriver::Request(kPrompt, 5));
  EXPECT_THAT(driver.TrySubmit(EngineDriver::Request(kPrompt, 5)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_queue_tokens is 13")));
  driver.Drive();
  driver.Add(EngineDriver::Request(kPrompt, 5));
}

TEST(EngineFailureTest, RefusesAPromptThatDoesNotFit) {
  FakeStepModel model(2, 4);
  EngineDriver driver(model);
  EXPECT_THAT(driver.TrySubmit(EngineDriver::Request({1, 2, 3, 4, 5, 6, 7, 8}, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs room for 9; a sequence here has at most 8")));
}

TEST(EngineFailureTest, RefusesTokensOutsideTheVocabulary) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  EXPECT_THAT(driver.TrySubmit(EngineDriver::Request({1, 16}, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("prompt_token_ids[1] is 16, must be in [0, 16)")));
}

TEST(EngineFailureTest, EndsASlowReaderOnly) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_unread_entries = 8});
  FakeClient& slow = driver.Add(EngineDriver::Request(kPrompt, 30));
  FakeClient& quick = driver.Add(EngineDriver::Request(kPrompt, 30));
  while (slow.tokens.empty()) ASSERT_TRUE(driver.Step());
  slow.reads = false;
  while (!quick.result) ASSERT_TRUE(driver.Step());
  PHYLLO_EXPECT_OK(quick.result->status);
  const SequenceNews news = slow.outbox->Take();
  EXPECT_THAT(news.tokens, SizeIs(8));
  EXPECT_THAT(news.result->status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_unread_entries is 8")));
  EXPECT_EQ(model.page_allocator().free_count(), 100);
}

TEST(EngineFailureTest, NotFiniteLogitsEndTheirSequenceOnly) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& healthy = driver.Add(EngineDriver::Request(kPrompt, 10));
  FakeClient& poisoned = driver.Add(EngineDriver::Request({1, FakeStepModel::kPoison}, 10));
  driver.Drive();
  EXPECT_THAT(poisoned.result->status,
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
  EXPECT_THAT(poisoned.tokens, IsEmpty());
  EXPECT_EQ(healthy.token_ids(), FakeStepModel::GreedyContinuation(kPrompt, 10));
  EXPECT_EQ(driver.engine().stats().not_finite_count, 1);
}

TEST(EngineFailureTest, AFailedStepEndsItsSequencesAndNotTheEngine) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& client = driver.Add(EngineDriver::Request(kPrompt, 10));
  model.set_on_forward([] { return absl::ResourceExhaustedError("no memory"); });
  driver.Drive();
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kInternal, HasSubstr("no memory")));
  model.set_on_forward(nullptr);
  FakeClient& next = driver.Add(EngineDriver::Request(kPrompt, 10));
  driver.Drive();
  EXPECT_EQ(next.token_ids(), FakeStepModel::GreedyContinuation(kPrompt, 10));
}

TEST(EngineFailureTest, DrainFinishesWhatRunsAndRefusesNew) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_sequences = 1});
  FakeClient& running = driver.Add(EngineDriver::Request(kPrompt, 10));
  FakeClient& waiting = driver.Add(EngineDriver::Request(kPrompt, 10));
  driver.Step();
  driver.engine().Drain();
  EXPECT_THAT(driver.TrySubmit(EngineDriver::Request(kPrompt, 1)),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(driver.engine().stats().draining);
  driver.Drive();
  PHYLLO_EXPECT_OK(running.result->status);
  PHYLLO_EXPECT_OK(waiting.result->status);
}

TEST(EngineFailureTest, StepInProgressIsVisibleToAWatchdog) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  driver.Add(EngineDriver::Request(kPrompt, 1));
  std::optional<absl::Time> started;
  model.set_on_forward([&] {
    started = driver.engine().stats().step_started_time;
    return absl::OkStatus();
  });
  driver.Drive();
  EXPECT_EQ(started, driver.now());
  EXPECT_EQ(driver.engine().stats().step_started_time, std::nullopt);
}

TEST(EngineFailureTest, RunEndsEverySequenceWhenStopped) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  absl::Notification asked;
  SequenceRequest request = EngineDriver::Request(kPrompt, 10);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const Engine::Submitted submitted,
                              driver.engine().Submit(request, [&](NewsUrgency) {
                                if (!asked.HasBeenNotified()) asked.Notify();
                              }));
  std::thread steps([&] { driver.engine().Run(); });
  asked.WaitForNotification();
  driver.engine().Stop();
  steps.join();
  EXPECT_THAT(submitted.outbox->Take().result->status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(driver.TrySubmit(request), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(EngineFailureTest, CreateNamesTheOptionThatIsOutOfRange) {
  FakeStepModel model(100, 4);
  const auto now = [] { return absl::UnixEpoch(); };
  EXPECT_THAT(Engine::Create(model, {.max_prefill_rows = 65, .now = now}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("max_prefill_rows is 65, must be in [1, 64]")));
  EXPECT_THAT(Engine::Create(model, {.max_prefill_rows = 8, .max_sequences = 0, .now = now}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_sequences is 0")));
}

}  // namespace
}  // namespace phyllo
