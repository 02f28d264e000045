// What the engine makes of the prefix cache: the same tokens, and less work.
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int32_t> Prompt(int64_t count, int32_t seed = 0) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i + 7 * seed + i * seed) % 12);
  return ids;
}

void ExpectTokens(const FakeClient& client,
                  const FakeStepModel::Windows& windows = {std::nullopt}) {
  ASSERT_TRUE(client.result.has_value());
  PHYLLO_ASSERT_OK(client.result->status);
  EXPECT_EQ(client.token_ids(),
            FakeStepModel::GreedyContinuation(client.request.prompt_token_ids,
                                              client.request.max_new_tokens, windows));
}

// Rows computed in all steps from the given one on.
int64_t RowsSince(const FakeStepModel& model, size_t step) {
  int64_t rows = 0;
  for (; step < model.steps().size(); ++step)
    rows = std::accumulate(model.steps()[step].begin(), model.steps()[step].end(), rows);
  return rows;
}

class EnginePrefixTest : public testing::Test {
 protected:
  FakeClient& Run(SequenceRequest request) {
    FakeClient& client = driver_.Add(std::move(request));
    driver_.Drive();
    ExpectTokens(client);
    return client;
  }

  FakeStepModel model_{/*page_count=*/40, /*page_size=*/4};
  EngineDriver driver_{model_, {.max_prefill_rows = 8}};
};

TEST_F(EnginePrefixTest, AsksOnlyForRowsThatTheCacheLacks) {
  EXPECT_EQ(Run(EngineDriver::Request(Prompt(21), 5)).result->cached_prompt_token_count, 0);
  const size_t steps = model_.steps().size();
  const FakeClient& second = Run(EngineDriver::Request(Prompt(21), 5));
  EXPECT_EQ(second.result->cached_prompt_token_count, 20);
  ASSERT_EQ(second.needs.size(), 1u);
  EXPECT_EQ(second.needs[0].first_position, 20);
  EXPECT_EQ(second.needs[0].count, 1);
  EXPECT_EQ(RowsSince(model_, steps), 5);
}

TEST_F(EnginePrefixTest, FindsTheAnswerOfTheTurnBefore) {
  std::vector<int32_t> conversation = Prompt(10);
  const FakeClient& first = Run(EngineDriver::Request(conversation, 9));
  const std::vector<int32_t> answer = first.token_ids();
  conversation.insert(conversation.end(), answer.begin(), answer.end());
  conversation.insert(conversation.end(), {3, 1, 2});
  // All but the last token of the answer, whose keys were never computed, and the new turn.
  EXPECT_EQ(Run(EngineDriver::Request(conversation, 4)).result->cached_prompt_token_count, 18);
}

TEST_F(EnginePrefixTest, SharesAPromptThatIsStillBeingComputed) {
  FakeClient& first = driver_.Add(EngineDriver::Request(Prompt(33), 3));
  FakeClient& second = driver_.Add(EngineDriver::Request(Prompt(33), 3));
  driver_.Drive();
  ExpectTokens(first);
  ExpectTokens(second);
  EXPECT_EQ(first.result->cached_prompt_token_count, 0);
  EXPECT_GE(second.result->cached_prompt_token_count, 24);
}

TEST_F(EnginePrefixTest, LeavesTheCacheAloneWhenTheRequestSaysSo) {
  SequenceRequest request = EngineDriver::Request(Prompt(21), 5);
  request.use_prefix_cache = false;
  Run(request);
  EXPECT_EQ(driver_.engine().stats().cached_page_count, 0);
  Run(EngineDriver::Request(Prompt(21), 5));
  EXPECT_EQ(Run(request).result->cached_prompt_token_count, 0);
}

TEST_F(EnginePrefixTest, SharesNoPromptThatIsGivenByItsRows) {
  SequenceRequest request = EngineDriver::Request(Prompt(21), 5);
  request.prompt_is_hidden_states = true;
  driver_.Add(request);
  driver_.Drive();
  EXPECT_EQ(driver_.engine().stats().cached_page_count, 0);
}

TEST_F(EnginePrefixTest, KeepsNamesApart) {
  SequenceRequest request = EngineDriver::Request(Prompt(21), 5);
  request.cache_name = "a";
  Run(request);
  request.cache_name = "b";
  EXPECT_EQ(Run(request).result->cached_prompt_token_count, 0);
}

TEST_F(EnginePrefixTest, ComputesEveryRowWhoseNextTokenIsScored) {
  Run(EngineDriver::Request(Prompt(21), 5));
  SequenceRequest request = EngineDriver::Request(Prompt(21), 5);
  request.first_scored_index = 1;
  const FakeClient& all = Run(request);
  EXPECT_EQ(all.result->cached_prompt_token_count, 0);
  EXPECT_EQ(all.scored_tokens.size(), 20u);
  request.first_scored_index = 15;
  const FakeClient& end = Run(request);
  EXPECT_EQ(end.result->cached_prompt_token_count, 14);
  ASSERT_EQ(end.scored_tokens.size(), 6u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(end.scored_tokens[i].logprob, all.scored_tokens[14 + i].logprob);
}

TEST_F(EnginePrefixTest, ReusesOnlyPositionsThatPromptsMayShare) {
  model_.set_reusable_positions(10);
  Run(EngineDriver::Request(Prompt(21), 5));
  EXPECT_EQ(Run(EngineDriver::Request(Prompt(21), 5)).result->cached_prompt_token_count, 10);
  model_.set_reusable_positions(0);
  EXPECT_EQ(Run(EngineDriver::Request(Prompt(21), 5)).result->cached_prompt_token_count, 0);
}

TEST_F(EnginePrefixTest, ForgetsThePagesOfASequenceThatIsNotFinite) {
  std::vector<int32_t> poisoned = Prompt(21);
  poisoned[13] = FakeStepModel::kPoison;
  FakeClient& client = driver_.Add(EngineDriver::Request(poisoned, 5));
  driver_.Drive();
  ASSERT_TRUE(client.result.has_value());
  EXPECT_EQ(client.result->status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(driver_.engine().stats().cached_page_count, 0);
}

TEST_F(EnginePrefixTest, NeverPreemptsForPagesThatAreOnlyRemembered) {
  for (int32_t i = 0; i < 6; ++i) Run(EngineDriver::Request(Prompt(100, i), 20));
  EXPECT_EQ(driver_.engine().stats().preemption_count, 0);
  EXPECT_GT(driver_.engine().stats().evicted_page_count, 0);
  EXPECT_EQ(model_.page_allocator().free_count(), 40);
}

TEST_F(EnginePrefixTest, AChoiceThatSharesThePromptHasTheTokensItHasAlone) {
  const auto request = [](int32_t choice) {
    SequenceRequest sampled = EngineDriver::Request(Prompt(21), 12);
    sampled.sampling.temperature = 1.0f;
    sampled.sampling.seed = 5;
    sampled.sampling.choice = choice;
    return sampled;
  };
  driver_.Add(request(0));
  while (model_.steps().size() < 4) driver_.Step();  // the prompt takes 3
  std::vector<const FakeClient*> together;
  for (int32_t choice = 1; choice < 4; ++choice) together.push_back(&driver_.Add(request(choice)));
  driver_.Drive();
  for (int32_t choice = 1; choice < 4; ++choice) {
    FakeStepModel model(40, 4);
    EngineDriver alone(model, {.prefix_cache = false});
    const FakeClient& expected = alone.Add(request(choice));
    alone.Drive();
    EXPECT_EQ(together[choice - 1]->token_ids(), expected.token_ids());
    EXPECT_EQ(together[choice - 1]->result->cached_prompt_token_count, 20);
  }
  EXPECT_NE(together[0]->token_ids(), together[1]->token_ids());
}

TEST(EnginePrefixPressureTest, PreemptedSequencesGoOnWithTheSameTokensFromTheCache) {
  FakeStepModel model(12, 4);
  EngineDriver driver(model);
  std::vector<FakeClient*> clients;
  for (int32_t i = 0; i < 5; ++i)
    clients.push_back(&driver.Add(EngineDriver::Request(Prompt(4 + i, i / 2), 20)));
  driver.Drive();
  for (const FakeClient* client : clients) ExpectTokens(*client);
  EXPECT_GT(driver.engine().stats().preemption_count, 0);
  EXPECT_EQ(model.page_allocator().free_count(), 12);
}

TEST(EnginePrefixPressureTest, ManySequencesOfFewPrefixesGetTheirTokens) {
  const FakeStepModel::Windows windows = {6, std::nullopt};
  FakeStepModel model({9, 14}, windows, 4);
  EngineDriver driver(model, {.max_prefill_rows = 5, .max_sequences = 6});
  std::vector<FakeClient*> clients;
  for (int32_t i = 0; i < 60; ++i) {
    std::vector<int32_t> prompt = Prompt(3 + 4 * (i % 5), i % 3);
    for (int32_t j = 0; j < i % 7; ++j) prompt.push_back((i + j) % 12);
    SequenceRequest request = EngineDriver::Request(prompt, 1 + i % 11);
    if (i % 9 == 4) request.first_scored_index = 1;
    clients.push_back(&driver.Add(std::move(request)));
    if (i % 3 == 0) driver.Step();
  }
  driver.Drive();
  int64_t cached = 0;
  for (const FakeClient* client : clients) {
    ExpectTokens(*client, windows);
    cached += client->result->cached_prompt_token_count;
  }
  EXPECT_GT(cached, 0);
  EXPECT_EQ(model.page_allocator(0).free_count(), 9);
  EXPECT_EQ(model.page_allocator(1).free_count(), 14);
}

}  // namespace
}  // namespace phyllo
