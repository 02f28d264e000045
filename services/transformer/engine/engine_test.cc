// The engine stepped by hand over a fake model whose tokens depend on everything in its pages:
// batching, prefill, preemption, scoring.
#include "services/transformer/engine/engine.h"

#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// `count` ids in [0, 13).
std::vector<int32_t> Prompt(int64_t count, int32_t seed = 0) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>((i * 7 + i * i * 3 + seed * 5) % 13));
  return ids;
}

void ExpectTokens(const FakeClient& client) {
  ASSERT_TRUE(client.result.has_value());
  PHYLLO_EXPECT_OK(client.result->status);
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(client.request.prompt_token_ids,
                                                                  client.request.max_new_tokens));
}

TEST(EngineTest, GeneratesTheModelsContinuation) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(10), 12));
  driver.Drive();
  ExpectTokens(client);
  EXPECT_EQ(client.result->finish_reason, FinishReason::kLength);
  EXPECT_EQ(client.result->prompt_token_count, 10);
  EXPECT_EQ(client.result->generated_token_count, 12);
}

TEST(EngineTest, ReportsTheLogprobsOfTheRawLogits) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(Prompt(3), 1);
  request.sampling.top_logprobs = 2;
  FakeClient& client = driver.Add(request);
  driver.Drive();
  ASSERT_THAT(client.tokens, SizeIs(1));
  const SampledToken expected = *DescribeToken(FakeStepModel::LogitsAfter(Prompt(3)),
                                               client.tokens[0].token_id, request.sampling);
  EXPECT_EQ(client.tokens[0].logprob, expected.logprob);
  EXPECT_EQ(client.tokens[0].rank, 1);
  EXPECT_EQ(client.tokens[0].top_logprobs[1].token_id, expected.top_logprobs[1].token_id);
}

// More than one block of logits rows: of some only the largest logit is kept, of others all are.
TEST(EngineTest, GivesTheSameTokensWhateverIsAskedOfTheLogits) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  std::vector<FakeClient*> clients;
  for (int32_t i = 0; i < 11; ++i) {
    SequenceRequest request = EngineDriver::Request(Prompt(3 + i, i), 6);
    if (i % 3 == 1) request.sampling.top_logprobs = 1;
    if (i % 4 == 2) request.first_scored_index = 2;
    clients.push_back(&driver.Add(request));
  }
  driver.Drive();
  for (const FakeClient* client : clients) {
    ExpectTokens(*client);
    EXPECT_EQ(client->scored_tokens.size(),
              client->request.first_scored_index ? client->request.prompt_token_ids.size() - 2 : 0);
  }
}

TEST(EngineTest, CutsALongPromptIntoChunks) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 8});
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(20), 2));
  driver.Drive();
  EXPECT_THAT(model.steps(),
              ElementsAre(ElementsAre(8), ElementsAre(8), ElementsAre(4), ElementsAre(1)));
  ExpectTokens(client);
  ASSERT_THAT(client.progress, SizeIs(2));
  EXPECT_EQ(client.progress[1].done_count, 16);
  EXPECT_EQ(client.progress[1].total_count, 20);
}

TEST(EngineTest, AsksForRowsOneChunkAheadOfThePrefill) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 8});
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(40), 1));
  client.answers_needs = false;
  driver.Drive();
  ASSERT_THAT(client.needs, SizeIs(2));
  EXPECT_EQ(client.needs[1].first_position, 8);
  EXPECT_EQ(client.needs[1].count, 8);
  driver.Provide(client, client.needs[0]);
  driver.Drive();
  EXPECT_THAT(client.needs, SizeIs(3));
}

TEST(EngineTest, DecodesWhileALongPromptIsPrefilled) {
  FakeStepModel model(100, 4, /*max_rows=*/9);
  EngineDriver driver(model, {.max_prefill_rows = 8});
  FakeClient& first = driver.Add(EngineDriver::Request(Prompt(2), 10));
  driver.Step();
  driver.Step();
  ASSERT_THAT(first.tokens, SizeIs(1));
  driver.Add(EngineDriver::Request(Prompt(40), 1));
  driver.Step();
  for (int i = 0; i < 5; ++i) {
    const size_t before = first.tokens.size();
    driver.Step();
    EXPECT_EQ(first.tokens.size(), before + 1);
    EXPECT_THAT(model.steps().back(), ElementsAre(1, 8));
  }
}

TEST(EngineTest, TokensDoNotDependOnTheBatchOrTheChunks) {
  for (const int64_t chunk : {1, 7, 64}) {
    FakeStepModel model(200, 4, /*max_rows=*/64, /*max_logits_rows=*/3);
    EngineDriver driver(model, {.max_prefill_rows = chunk});
    std::vector<FakeClient*> clients;
    for (int32_t i = 0; i < 16; ++i)
      clients.push_back(&driver.Add(EngineDriver::Request(Prompt(1 + 3 * i, i), 5 + i)));
    driver.Drive();
    for (const FakeClient* client : clients) ExpectTokens(*client);
  }
}

TEST(EngineTest, SampledTokensDoNotDependOnTheBatch) {
  const auto generate = [](int64_t others) {
    FakeStepModel model(200, 4);
    EngineDriver driver(model);
    for (int64_t i = 0; i < others; ++i) driver.Add(EngineDriver::Request(Prompt(5, 3), 9));
    SequenceRequest request = EngineDriver::Request(Prompt(9), 20);
    request.sampling.temperature = 1.0f;
    request.sampling.top_p = 0.9f;
    request.sampling.seed = 77;
    FakeClient& client = driver.Add(request);
    driver.Drive();
    return client.token_ids();
  };
  const std::vector<int32_t> alone = generate(0);
  EXPECT_THAT(alone, SizeIs(20));
  EXPECT_EQ(generate(5), alone);
  EXPECT_NE(alone, FakeStepModel::GreedyContinuation(Prompt(9), 20));
}

TEST(EngineTest, PreemptionDoesNotChangeTokens) {
  // 12 pages of 4 tokens; four sequences that end with 24 tokens each need 24 pages.
  FakeStepModel model(12, 4);
  EngineDriver driver(model);
  std::vector<FakeClient*> clients;
  for (int32_t i = 0; i < 4; ++i)
    clients.push_back(&driver.Add(EngineDriver::Request(Prompt(4, i), 20)));
  driver.Drive();
  int64_t preemptions = 0;
  for (const FakeClient* client : clients) {
    ExpectTokens(*client);
    preemptions += client->result->preemption_count;
  }
  EXPECT_GT(preemptions, 0);
  EXPECT_EQ(driver.engine().stats().preemption_count, preemptions);
  EXPECT_EQ(clients[0]->result->preemption_count,
            0);  // the first in order of service never loses its pages
  EXPECT_EQ(model.page_allocator().free_count(), 12);
}

TEST(EngineTest, AsksForThePromptAgainAfterAPreemption) {
  FakeStepModel model(5, 4);
  EngineDriver driver(model, {.prefix_cache = false});
  driver.Add(EngineDriver::Request(Prompt(4), 14));
  FakeClient& second = driver.Add(EngineDriver::Request(Prompt(4, 1), 8));
  driver.Drive();
  ASSERT_GT(second.result->preemption_count, 0);
  EXPECT_THAT(second.needs, SizeIs(1 + second.result->preemption_count));
  EXPECT_EQ(second.needs.back().first_position, 0);
}

TEST(EngineTest, ContinuesAfterTokensThatWereGeneratedBefore) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(Prompt(6), 20);
  request.sampling.temperature = 0.8f;
  request.sampling.frequency_penalty = 0.7f;
  request.sampling.seed = 3;
  FakeClient& unbroken = driver.Add(request);
  driver.Drive();
  const std::vector<int32_t> all = unbroken.token_ids();
  ASSERT_THAT(all, SizeIs(20));
  for (const int64_t done : {1, 7, 19}) {
    request.generated_token_ids.assign(all.begin(), all.begin() + done);
    FakeClient& resumed = driver.Add(request);
    driver.Drive();
    EXPECT_EQ(resumed.token_ids(), std::vector<int32_t>(all.begin() + done, all.end()));
    EXPECT_EQ(resumed.result->generated_token_count, 20);
  }
}

TEST(EngineTest, FinishesAtOnceWhenNothingIsLeftToGenerate) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(Prompt(6), 2);
  request.generated_token_ids = {1, 2};
  FakeClient& client = driver.Add(request);
  driver.Drive();
  PHYLLO_EXPECT_OK(client.result->status);
  EXPECT_EQ(client.result->finish_reason, FinishReason::kLength);
  EXPECT_THAT(model.steps(), IsEmpty());
}

TEST(EngineTest, EndsWithEosWhenTheModelChoosesIt) {
  const std::vector<int32_t> continuation = FakeStepModel::GreedyContinuation(Prompt(6), 20);
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.eos_token_ids = {continuation[0]}});
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(6), 20));
  SequenceRequest request = EngineDriver::Request(Prompt(6), 20);
  request.ignore_eos = true;
  FakeClient& ignoring = driver.Add(request);
  driver.Drive();
  EXPECT_EQ(client.result->finish_reason, FinishReason::kEos);
  EXPECT_THAT(client.token_ids(), ElementsAre(continuation[0]));
  EXPECT_EQ(ignoring.token_ids(), continuation);
}

TEST(EngineTest, BansEosUntilMinTokens) {
  const std::vector<int32_t> continuation = FakeStepModel::GreedyContinuation(Prompt(6), 20);
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.eos_token_ids = {continuation[0]}});
  SequenceRequest request = EngineDriver::Request(Prompt(6), 20);
  request.sampling.min_tokens = 3;
  FakeClient& client = driver.Add(request);
  driver.Drive();
  ASSERT_GE(client.tokens.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_NE(client.tokens[i].token_id, continuation[0]);
}

TEST(EngineTest, EndsWithStopTokenOfTheRequest) {
  const std::vector<int32_t> continuation = FakeStepModel::GreedyContinuation(Prompt(6), 20);
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(Prompt(6), 20);
  request.sampling.stop_token_ids = {continuation[0]};
  FakeClient& client = driver.Add(request);
  driver.Drive();
  EXPECT_EQ(client.result->finish_reason, FinishReason::kStopToken);
}

TEST(EngineTest, EndsAtTheContextLimit) {
  FakeStepModel model(3, 4);  // 12 tokens
  EngineDriver driver(model);
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(6), 20));
  driver.Drive();
  PHYLLO_EXPECT_OK(client.result->status);
  EXPECT_EQ(client.result->finish_reason, FinishReason::kContextLimit);
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(Prompt(6), 6));
}

TEST(EngineTest, ScoresPromptTokensInBoundedChunks) {
  FakeStepModel model(100, 4, /*max_rows=*/64, /*max_logits_rows=*/3);
  EngineDriver driver(model, {.max_prefill_rows = 8});
  SequenceRequest request = EngineDriver::Request(Prompt(30), 0);
  request.first_scored_index = 5;
  request.prompt_logprobs.top_logprobs = 2;
  FakeClient& client = driver.Add(request);
  driver.Drive();
  EXPECT_EQ(client.result->finish_reason, FinishReason::kScored);
  ASSERT_THAT(client.scored_tokens, SizeIs(25));
  for (int64_t i = 5; i < 30; ++i) {
    const SampledToken expected = *DescribeToken(FakeStepModel::LogitsAfter(Prompt(i)),
                                                 Prompt(30)[i], request.prompt_logprobs);
    EXPECT_EQ(client.scored_tokens[i - 5].token_id, expected.token_id);
    EXPECT_EQ(client.scored_tokens[i - 5].logprob, expected.logprob);
    EXPECT_EQ(client.scored_tokens[i - 5].rank, expected.rank);
  }
}

TEST(EngineTest, WaitsForASlowReaderOfScores) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 8, .max_unread_entries = 1});
  SequenceRequest request = EngineDriver::Request(Prompt(30), 0);
  request.first_scored_index = 1;
  request.prompt_logprobs.top_logprobs = 3;
  FakeClient& client = driver.Add(request);
  client.reads = false;
  driver.Step();
  driver.Provide(client, {0, 8});
  driver.Provide(client, {8, 8});
  driver.Drive();
  EXPECT_THAT(model.steps(), SizeIs(2));
  client.reads = true;
  client.answers_needs = false;
  driver.Step();
  EXPECT_FALSE(client.result.has_value());
  ASSERT_THAT(client.needs, SizeIs(4));
  driver.Provide(client, client.needs[2]);
  driver.Provide(client, client.needs[3]);
  driver.Drive();
  PHYLLO_EXPECT_OK(client.result->status);
  EXPECT_THAT(client.scored_tokens, SizeIs(29));
}

TEST(EngineTest, ScoresThePromptOnceWhenPreempted) {
  FakeStepModel model(7, 4);
  EngineDriver driver(model, {.max_prefill_rows = 4});
  driver.Add(EngineDriver::Request(Prompt(4), 22));
  SequenceRequest request = EngineDriver::Request(Prompt(8, 2), 12);
  request.first_scored_index = 1;
  FakeClient& client = driver.Add(request);
  driver.Drive();
  ASSERT_GT(client.result->preemption_count, 0);
  EXPECT_THAT(client.scored_tokens, SizeIs(7));
  ExpectTokens(client);
}

TEST(EngineTest, ServesHigherPriorityFirst) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_sequences = 1});
  FakeClient& running = driver.Add(EngineDriver::Request(Prompt(4), 3));
  driver.Step();
  FakeClient& low = driver.Add(EngineDriver::Request(Prompt(4), 3));
  SequenceRequest urgent = EngineDriver::Request(Prompt(4), 3);
  urgent.priority = 1;
  FakeClient& high = driver.Add(urgent);
  while (!high.result) ASSERT_TRUE(driver.Step());
  EXPECT_TRUE(running.result.has_value());
  EXPECT_THAT(low.tokens, IsEmpty());
}

TEST(EngineTest, MeasuresQueuePrefillAndDecode) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 4});
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(8), 3));
  driver.Advance(absl::Seconds(5));
  driver.Step();  // asks
  model.set_on_forward([&] {
    driver.Advance(absl::Seconds(1));
    return absl::OkStatus();
  });
  driver.Drive();
  EXPECT_EQ(client.result->queue_time, absl::Seconds(5));
  EXPECT_EQ(client.result->prefill_time, absl::Seconds(2));
  EXPECT_EQ(client.result->decode_time, absl::Seconds(2));
}

TEST(EngineTest, StatsShowTheLoad) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 8, .max_sequences = 1});
  driver.Add(EngineDriver::Request(Prompt(20), 3));
  driver.Add(EngineDriver::Request(Prompt(10), 3));
  EXPECT_EQ(driver.engine().stats().waiting_count, 2);
  EXPECT_EQ(driver.engine().stats().outstanding_prefill_tokens, 30);
  driver.Step();
  driver.Step();
  const EngineStats stats = driver.engine().stats();
  EXPECT_EQ(stats.running_count, 1);
  EXPECT_EQ(stats.waiting_count, 1);
  EXPECT_EQ(stats.outstanding_prefill_tokens, 22);
  EXPECT_EQ(stats.pages.used_count, 2);
  EXPECT_EQ(stats.pages.total_count, 100);
  EXPECT_EQ(stats.step_count, 1);
}

}  // namespace
}  // namespace phyllo
