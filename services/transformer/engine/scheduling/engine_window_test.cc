// Models whose layers see windows: pages come back while sequences run.
#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

std::vector<int32_t> Prompt(int64_t count, int32_t seed = 0) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i + 7 * seed + i * seed) % 12);
  return ids;
}

void ExpectTokens(const FakeClient& client, const FakeStepModel::Windows& windows) {
  ASSERT_TRUE(client.result.has_value());
  PHYLLO_ASSERT_OK(client.result->status);
  EXPECT_EQ(client.token_ids(),
            FakeStepModel::GreedyContinuation(client.request.prompt_token_ids,
                                              client.request.max_new_tokens, windows));
}

TEST(EngineWindowTest, ALongPromptHoldsNoMoreThanWindowAndChunk) {
  const FakeStepModel::Windows windows = {6};
  FakeStepModel model({4}, windows, 4);  // of 300 tokens at most 13 are held
  EngineDriver driver(model, {.max_prefill_rows = 8});
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(300), 40));
  driver.Drive();
  ExpectTokens(client, windows);
  EXPECT_EQ(client.result->preemption_count, 0);
  EXPECT_EQ(model.page_allocator().free_count(), 4);
  EXPECT_EQ(driver.engine().limits().max_sequence_length, 1000);
}

TEST(EngineWindowTest, SequencesWithWindowsArePreemptedAndGoOn) {
  const FakeStepModel::Windows windows = {std::nullopt, 6};
  FakeStepModel model({40, 7}, windows, 4);
  EngineDriver driver(model, {.max_prefill_rows = 8});
  std::vector<FakeClient*> clients;
  for (int32_t i = 0; i < 4; ++i)
    clients.push_back(&driver.Add(EngineDriver::Request(Prompt(3 + 9 * i, i), 25)));
  driver.Drive();
  for (const FakeClient* client : clients) ExpectTokens(*client, windows);
  EXPECT_EQ(model.page_allocator(0).free_count(), 40);
  EXPECT_EQ(model.page_allocator(1).free_count(), 7);
}

TEST(EngineWindowTest, APoolTooSmallForTheWindowLimitsTheLength) {
  FakeStepModel model({40, 2}, {std::nullopt, 16}, 4);
  EngineDriver driver(model);
  EXPECT_EQ(driver.engine().limits().max_sequence_length, 8);
}

}  // namespace
}  // namespace phyllo
