// More work than the transformer has room for.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

ServiceFlags TransformerFlags(std::vector<std::string> flags) {
  ServiceFlags all;
  all[static_cast<int>(ServiceKind::kTransformer)] = std::move(flags);
  return all;
}

TEST(OverloadTest, RefusesRequestWithRetryDelayWhenQueueIsFull) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const auto services,
      RunningServices::Start(TransformerFlags({"--max_sequences=1", "--max_queue_sequences=1"})));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<GoldenCase> golden, ReadGoldenCases());
  // One that runs for long, and one that waits for its place.
  grpc::ClientContext running_context;
  const auto running =
      services->stub().Generate(&running_context, GreedyRequest(golden[0].input_ids, 1900));
  gateway::v1::GenerateResponse message;
  ASSERT_TRUE(running->Read(&message));
  grpc::ClientContext waiting_context;
  const auto waiting =
      services->stub().Generate(&waiting_context, GreedyRequest(golden[0].input_ids, 1900));
  // The second takes the queue's place a moment after it is sent; one of the next ones finds it
  // full.
  Answer refused;
  for (int i = 0; i < 100 && refused.status.code() != absl::StatusCode::kResourceExhausted; ++i) {
    refused = services->Generate(GreedyRequest(golden[0].input_ids, 1), absl::Milliseconds(100));
  }
  EXPECT_THAT(refused.status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_TRUE(GetRetryDelay(refused.status).has_value());
  running_context.TryCancel();
  waiting_context.TryCancel();
  running->Finish();
  waiting->Finish();
}

TEST(OverloadTest, PreemptsAndGivesSameTokensWhenCacheIsFull) {
  // Room for about two of the four sequences: 2 * 512 tokens of 2 (K, V) * 6 layers * 64 floats.
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const auto services, RunningServices::Start(TransformerFlags({"--kv_cache_bytes=2097152"})));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<GoldenCase> golden, ReadGoldenCases());
  constexpr int kTokenCount = 300;
  const Answer alone = services->Generate(GreedyRequest(golden[0].input_ids, kTokenCount));
  PHYLLO_ASSERT_OK(alone.status);
  std::vector<Answer> answers(4);
  std::vector<std::thread> clients;
  for (Answer& answer : answers) {
    clients.emplace_back(
        [&] { answer = services->Generate(GreedyRequest(golden[0].input_ids, kTokenCount)); });
  }
  for (std::thread& client : clients) client.join();
  int64_t preemption_count = 0;
  for (const Answer& answer : answers) {
    PHYLLO_ASSERT_OK(answer.status);
    EXPECT_EQ(answer.token_ids, alone.token_ids);
    preemption_count += answer.finished.usage().preemption_count();
  }
  EXPECT_GT(preemption_count, 0)
      << "the cache was large enough for all: the test does not test what it says";
}

}  // namespace
}  // namespace phyllo
