// Speculative decoding over a fake model whose tokens depend on everything in its pages, with a
// drafter that is right, wrong, or both: what comes out is what comes out without.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/sampling/philox.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"
#include "services/transformer/engine/testing/replay_drafter.h"

namespace phyllo {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<int32_t> Prompt(int64_t count, int32_t seed = 0) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>(UniformDraw(5, seed, i) * 13));
  return ids;
}

std::vector<int32_t> Concatenate(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

EngineOptions Speculating(Drafter* drafter, int64_t max_draft_tokens = 5) {
  return {.step_cost = StepCostTable{.forward = {{1, 1.0}}},
          .speculation = {.mode = SpeculationMode::kOn,
                          .max_draft_tokens = max_draft_tokens,
                          .ngrams = drafter == nullptr,
                          .drafter = drafter}};
}

// A drafter that knows the greedy continuation of the prompt and errs that often.
ReplayDrafter DrafterOf(const std::vector<int32_t>& prompt, int64_t count, double error_rate) {
  ReplayDrafter drafter(FakeStepModel::kVocabSize, error_rate);
  drafter.Learn(Concatenate(prompt, FakeStepModel::GreedyContinuation(prompt, count)));
  return drafter;
}

// Requests of all kinds: sampled in several ways, with all that looks at earlier tokens.
SequenceRequest MixedRequest(int index) {
  SequenceRequest request = EngineDriver::Request(Prompt(1 + 3 * index, index), 40 + index);
  request.sampling.seed = 100 + index;
  request.sampling.temperature = index % 3 == 0 ? 0.0f : 0.4f * static_cast<float>(index % 3);
  request.sampling.top_logprobs = index % 3;
  request.sampling.logprobs = index % 2 == 1;
  if (index % 4 == 1) request.sampling.repetition_penalty = 1.3f;
  if (index % 4 == 2) request.sampling.dry = DryParameters{.multiplier = 2.0f, .allowed_length = 1};
  if (index % 4 == 3) request.sampling.frequency_penalty = 0.7f;
  if (index % 5 == 4) request.sampling.no_repeat_ngram_size = 3;
  if (index % 5 == 2) request.first_scored_index = 1;
  if (index % 6 == 5) request.sampling.stop_token_ids = {7};
  if (index % 6 == 5) request.sampling.min_tokens = 10;
  return request;
}

struct Answer {
  std::vector<SampledToken> tokens;
  std::vector<SampledToken> scored_tokens;
  SequenceResult result;
};

struct Setting {
  int64_t page_count = 400;
  FakeStepModel::Windows windows = {std::nullopt};
  int64_t max_prefill_rows = 64;
  bool prefix_cache = true;
};

constexpr int kRequestCount = 12;

std::vector<Answer> RunMixed(const Setting& setting, Drafter* drafter, SpeculationMode mode,
                             EngineStats* stats = nullptr) {
  std::vector<int64_t> page_counts(setting.windows.size(), setting.page_count);
  FakeStepModel model(page_counts, setting.windows, /*page_size=*/4);
  EngineOptions options = Speculating(drafter);
  options.max_prefill_rows = setting.max_prefill_rows;
  options.prefix_cache = setting.prefix_cache;
  options.speculation.mode = mode;
  options.speculation.ngrams = true;
  EngineDriver driver(model, std::move(options));
  std::vector<FakeClient*> clients;
  for (int i = 0; i < kRequestCount; ++i) clients.push_back(&driver.Add(MixedRequest(i)));
  driver.Drive();
  std::vector<Answer> answers;
  for (FakeClient* const client : clients) {
    EXPECT_TRUE(client->result.has_value());
    PHYLLO_EXPECT_OK(client->result->status);
    answers.push_back({client->tokens, client->scored_tokens, *client->result});
  }
  EXPECT_EQ(driver.engine().stats().pages.used_count, 0);
  if (stats != nullptr) *stats = driver.engine().stats();
  return answers;
}

void ExpectSame(const std::vector<SampledToken>& got, const std::vector<SampledToken>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].token_id, want[i].token_id) << i;
    EXPECT_EQ(got[i].logprob, want[i].logprob) << i;
    EXPECT_EQ(got[i].rank, want[i].rank) << i;
    ASSERT_EQ(got[i].top_logprobs.size(), want[i].top_logprobs.size());
    for (size_t j = 0; j < want[i].top_logprobs.size(); ++j) {
      EXPECT_EQ(got[i].top_logprobs[j].token_id, want[i].top_logprobs[j].token_id) << i;
      EXPECT_EQ(got[i].top_logprobs[j].logprob, want[i].top_logprobs[j].logprob) << i;
    }
  }
}

// A drafter that knows the answers, of which `error_rate` is wrong.
ReplayDrafter DrafterOf(const std::vector<Answer>& answers, double error_rate) {
  ReplayDrafter drafter(FakeStepModel::kVocabSize, error_rate);
  for (int i = 0; i < kRequestCount; ++i) {
    std::vector<int32_t> text = MixedRequest(i).prompt_token_ids;
    for (const SampledToken& token : answers[i].tokens) text.push_back(token.token_id);
    drafter.Learn(std::move(text));
  }
  return drafter;
}

void ExpectMixedUnchanged(const Setting& setting, bool expect_preemptions = false) {
  const std::vector<Answer> want = RunMixed(setting, nullptr, SpeculationMode::kOff);
  for (const double error_rate : {0.0, 0.3, 1.0}) {
    SCOPED_TRACE(error_rate);
    ReplayDrafter drafter = DrafterOf(want, error_rate);
    EngineStats stats;
    const std::vector<Answer> got = RunMixed(setting, &drafter, SpeculationMode::kOn, &stats);
    if (expect_preemptions) {
      EXPECT_GT(stats.preemption_count, 0);
    }
    int64_t accepted_count = 0;
    for (int i = 0; i < kRequestCount; ++i) {
      SCOPED_TRACE(i);
      ExpectSame(got[i].tokens, want[i].tokens);
      ExpectSame(got[i].scored_tokens, want[i].scored_tokens);
      EXPECT_EQ(got[i].result.finish_reason, want[i].result.finish_reason);
      EXPECT_GT(got[i].result.drafted_token_count, 0);
      accepted_count += got[i].result.accepted_token_count;
    }
    if (error_rate < 1.0) {
      EXPECT_GT(accepted_count, 100);
    }
  }
}

TEST(EngineSpeculationTest, RightDraftsTakeFewerSteps) {
  const std::vector<int32_t> prompt = Prompt(10);
  ReplayDrafter drafter = DrafterOf(prompt, 24, /*error_rate=*/0.0);
  FakeStepModel model(100, 4);
  EngineDriver driver(model, Speculating(&drafter));
  FakeClient& client = driver.Add(EngineDriver::Request(prompt, 25));
  driver.Drive();
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(prompt, 25));
  // The first token comes with the prompt, the others six a step.
  EXPECT_THAT(model.steps(), SizeIs(1 + 24 / 6));
  EXPECT_EQ(client.result->drafted_token_count, 20);
  EXPECT_EQ(client.result->accepted_token_count, 20);
}

TEST(EngineSpeculationTest, WrongDraftsTakeNoMoreStepsThanNone) {
  const std::vector<int32_t> prompt = Prompt(10);
  ReplayDrafter drafter = DrafterOf(prompt, 25, /*error_rate=*/1.0);
  FakeStepModel model(100, 4);
  EngineDriver driver(model, Speculating(&drafter));
  FakeClient& client = driver.Add(EngineDriver::Request(prompt, 25));
  driver.Drive();
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(prompt, 25));
  EXPECT_THAT(model.steps(), SizeIs(25));
  EXPECT_GT(client.result->drafted_token_count, 80);
  EXPECT_EQ(client.result->accepted_token_count, 0);
  EXPECT_THAT(drafter.forgotten(), Contains(client.id));
}

TEST(EngineSpeculationTest, NgramsFindTheLoopOfAText) {
  // A model that sees three tokens soon goes round in a circle.
  const FakeStepModel::Windows windows = {3};
  FakeStepModel model({100}, windows, 4);
  EngineDriver driver(model, Speculating(nullptr));
  FakeClient& client = driver.Add(EngineDriver::Request(Prompt(6), 400));
  driver.Drive();
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(Prompt(6), 400, windows));
  EXPECT_GT(client.result->accepted_token_count, 100);
  EXPECT_LT(model.steps().size(), 300);
}

TEST(EngineSpeculationTest, ChangesNoTokenAndNoLogprob) { ExpectMixedUnchanged({}); }

TEST(EngineSpeculationTest, ChangesNothingInSmallChunks) {
  ExpectMixedUnchanged({.max_prefill_rows = 3});
}

TEST(EngineSpeculationTest, ChangesNothingWithoutPrefixCache) {
  ExpectMixedUnchanged({.prefix_cache = false});
}

TEST(EngineSpeculationTest, ChangesNothingWithPreemptions) {
  ExpectMixedUnchanged({.page_count = 45}, /*expect_preemptions=*/true);
}

TEST(EngineSpeculationTest, ChangesNothingWithPreemptionsWithoutPrefixCache) {
  ExpectMixedUnchanged({.page_count = 45, .prefix_cache = false}, /*expect_preemptions=*/true);
}

TEST(EngineSpeculationTest, ChangesNothingWithWindows) {
  ExpectMixedUnchanged({.windows = {5, std::nullopt, 9}});
  ExpectMixedUnchanged({.windows = {1}});
}

TEST(EngineSpeculationTest, ChangesNothingWithWindowsAndPreemptions) {
  ExpectMixedUnchanged({.page_count = 45, .windows = {5, std::nullopt, 9}},
                       /*expect_preemptions=*/true);
}

TEST(EngineSpeculationTest, RejectedTokensAreNotFoundInThePrefixCache) {
  const std::vector<int32_t> prompt = Prompt(9);
  ReplayDrafter drafter = DrafterOf(prompt, 40, /*error_rate=*/0.5);
  FakeStepModel model(200, 4);
  EngineDriver driver(model, Speculating(&drafter, /*max_draft_tokens=*/9));
  driver.Add(EngineDriver::Request(prompt, 30));
  driver.Drive();
  // The text so far, and beyond it what never was: every key that is found is that of the text.
  const std::vector<int32_t> next =
      Concatenate(prompt, FakeStepModel::GreedyContinuation(prompt, 30));
  FakeClient& client = driver.Add(EngineDriver::Request(next, 20));
  driver.Drive();
  EXPECT_GT(client.result->cached_prompt_token_count, 30);
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(next, 20));
}

TEST(EngineSpeculationTest, DraftsEndBeforeTheLengthLimit) {
  const std::vector<int32_t> prompt = Prompt(4);
  ReplayDrafter drafter = DrafterOf(prompt, 100, /*error_rate=*/0.0);
  for (int64_t count = 1; count < 12; ++count) {
    FakeStepModel model(100, 4);
    EngineDriver driver(model, Speculating(&drafter, kMaxDraftTokens));
    FakeClient& client = driver.Add(EngineDriver::Request(prompt, count));
    driver.Drive();
    EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(prompt, count));
    EXPECT_EQ(client.result->finish_reason, FinishReason::kLength);
    EXPECT_EQ(client.result->accepted_token_count, client.result->drafted_token_count);
  }
}

TEST(EngineSpeculationTest, DraftsEndBeforeTheContextLimit) {
  const std::vector<int32_t> prompt = Prompt(4);
  ReplayDrafter drafter = DrafterOf(prompt, 100, /*error_rate=*/0.0);
  // The cache has room for 16 tokens.
  FakeStepModel model(4, 4);
  EngineDriver driver(model, Speculating(&drafter, kMaxDraftTokens));
  FakeClient& client = driver.Add(EngineDriver::Request(prompt, 100));
  driver.Drive();
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(prompt, 12));
  EXPECT_EQ(client.result->finish_reason, FinishReason::kContextLimit);
}

TEST(EngineSpeculationTest, DraftsEndBeforeAStopToken) {
  const std::vector<int32_t> prompt = Prompt(4);
  const std::vector<int32_t> answer = FakeStepModel::GreedyContinuation(prompt, 40);
  const int32_t stop = answer[9];
  const auto length = std::find(answer.begin(), answer.end(), stop) - answer.begin() + 1;
  ReplayDrafter drafter = DrafterOf(prompt, 40, /*error_rate=*/0.0);
  for (const bool is_eos : {false, true}) {
    FakeStepModel model(100, 4);
    EngineOptions options = Speculating(&drafter, kMaxDraftTokens);
    if (is_eos) options.eos_token_ids = {stop};
    EngineDriver driver(model, std::move(options));
    SequenceRequest request = EngineDriver::Request(prompt, 40);
    if (!is_eos) request.sampling.stop_token_ids = {stop};
    FakeClient& client = driver.Add(request);
    driver.Drive();
    EXPECT_THAT(client.tokens, SizeIs(length));
    EXPECT_EQ(client.result->finish_reason, is_eos ? FinishReason::kEos : FinishReason::kStopToken);
    EXPECT_EQ(client.result->accepted_token_count, client.result->drafted_token_count);
  }
}

TEST(EngineSpeculationTest, ADraftThatIsNotFiniteHurtsNobody) {
  const std::vector<int32_t> prompt = Prompt(9);
  ReplayDrafter drafter(FakeStepModel::kVocabSize, /*error_rate=*/0.0);
  // Drafted after every token that the drafter knows: one that makes the rows not finite.
  std::vector<int32_t> text = prompt;
  for (const int32_t token : FakeStepModel::GreedyContinuation(prompt, 30)) {
    text.push_back(token);
    std::vector<int32_t> poisoned = text;
    poisoned.insert(poisoned.end(), 6, FakeStepModel::kPoison);
    drafter.Learn(std::move(poisoned));
  }
  FakeStepModel model(100, 4);
  EngineDriver driver(model, Speculating(&drafter));
  for (int round = 0; round < 2; ++round) {
    FakeClient& client = driver.Add(EngineDriver::Request(prompt, 30));
    driver.Drive();
    PHYLLO_EXPECT_OK(client.result->status);
    EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(prompt, 30));
    EXPECT_GT(client.result->drafted_token_count, 50);
    // What was computed is finite and may be found.
    if (round == 1) {
      EXPECT_GT(client.result->cached_prompt_token_count, 0);
    }
  }
  EXPECT_EQ(driver.engine().stats().not_finite_count, 0);
}

TEST(EngineSpeculationTest, ASequenceThatIsNotFiniteFails) {
  std::vector<int32_t> prompt = Prompt(9);
  prompt[3] = FakeStepModel::kPoison;
  ReplayDrafter drafter(FakeStepModel::kVocabSize, 1.0);
  FakeStepModel model(100, 4);
  EngineDriver driver(model, Speculating(&drafter));
  SequenceRequest request = EngineDriver::Request(prompt, 30);
  request.generated_token_ids = {1, 2};
  FakeClient& client = driver.Add(request);
  driver.Drive();
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kInternal));
}

TEST(EngineSpeculationTest, ASlowReaderFailsInTheMiddleOfADraft) {
  const std::vector<int32_t> prompt = Prompt(4);
  ReplayDrafter drafter = DrafterOf(prompt, 40, /*error_rate=*/0.0);
  FakeStepModel model(100, 4);
  EngineOptions options = Speculating(&drafter);
  options.max_unread_entries = 10;
  EngineDriver driver(model, std::move(options));
  FakeClient& client = driver.Add(EngineDriver::Request(prompt, 40));
  while (client.tokens.empty()) driver.Step();
  client.reads = false;
  driver.Drive();
  client.reads = true;
  driver.Step();
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kResourceExhausted));
  const std::vector<int32_t> want = FakeStepModel::GreedyContinuation(prompt, 11);
  EXPECT_EQ(client.token_ids(), want);
}

TEST(EngineSpeculationTest, ARequestMayTurnItOnAndOffAndLimitIt) {
  const std::vector<int32_t> prompt = Prompt(4);
  ReplayDrafter drafter = DrafterOf(prompt, 40, /*error_rate=*/0.0);
  FakeStepModel model(100, 4);
  EngineOptions options = Speculating(&drafter);
  options.speculation.mode = SpeculationMode::kOff;
  EngineDriver driver(model, std::move(options));
  SequenceRequest request = EngineDriver::Request(prompt, 40);
  const FakeClient& silent = driver.Add(request);
  driver.Drive();
  EXPECT_EQ(silent.result->drafted_token_count, 0);
  request.speculation = {.enabled = true, .max_draft_tokens = 2};
  const size_t before = model.steps().size();
  const FakeClient& on = driver.Add(request);
  driver.Drive();
  EXPECT_EQ(on.result->accepted_token_count, 26);
  for (size_t i = before + 1; i < model.steps().size(); ++i) EXPECT_LE(model.steps()[i][0], 3) << i;
  request.speculation.max_draft_tokens = 17;
  EXPECT_THAT(driver.TrySubmit(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("max_draft_tokens is 17, must be in [1, 16]")));
}

TEST(EngineSpeculationTest, RefusesAnOptionThatIsOutOfRange) {
  FakeStepModel model(100, 4);
  EngineOptions options = Speculating(nullptr, /*max_draft_tokens=*/17);
  options.max_prefill_rows = 64;
  options.now = [] { return absl::UnixEpoch(); };
  EXPECT_THAT(Engine::Create(model, std::move(options)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("max_draft_tokens is 17, must be in [1, 16]")));
}

}  // namespace
}  // namespace phyllo
