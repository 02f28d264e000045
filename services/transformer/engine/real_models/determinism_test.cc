// The determinism contract on real checkpoints: tokens and log-probabilities of a request are the
// same bits whatever else is in the batch, in whatever order, however the prompt is cut, with any
// number of threads, preempted or not, computed or found in the prefix cache, drafted or not.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/sampling/philox.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/replay_drafter.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {
namespace {

constexpr int kRequestCount = 16;

// What must not change: every id and every log-probability's bits, those of the prompt first.
using Transcript = std::vector<uint64_t>;

struct Setting {
  std::string name;
  int num_threads = 1;
  int64_t max_prefill_rows = 256;
  int64_t page_count = 512;
  bool together = true;
  bool reversed = false;
  bool prefix_cache = false;
  ReplayDrafter* drafter = nullptr;  // if set, drafts for all requests
  int passes = 1;  // all requests so many times in one engine; the last time counts
};

// Prompts of 1 to 106 tokens; greedy, sampled in several ways, with penalties, and with scored
// prompts.
SequenceRequest MakeRequest(int index, int64_t vocab_size) {
  SequenceRequest request;
  for (int64_t i = 0; i < 1 + 7 * index; ++i) {
    request.prompt_token_ids.push_back(
        static_cast<int32_t>(UniformDraw(99, index, i) * static_cast<double>(vocab_size)));
  }
  request.max_new_tokens = 36 + index % 5;
  request.ignore_eos = true;
  request.sampling.top_logprobs = index % 3;
  request.sampling.logprobs = index % 2 == 1;
  request.sampling.seed = 1000 + index;
  request.sampling.temperature =
      index % 4 == 0 ? 0.0f : 0.5f + 0.25f * static_cast<float>(index % 4);
  if (index % 4 == 1) request.sampling.top_p = 0.9f;
  if (index % 4 == 2) request.sampling.top_k = 20;
  if (index % 5 == 3) request.sampling.repetition_penalty = 1.2f;
  if (index % 5 == 4) request.sampling.frequency_penalty = 0.5f;
  if (index % 3 == 0) request.first_scored_index = 1;
  return request;
}

void Append(const std::vector<SampledToken>& tokens, Transcript& transcript) {
  for (const SampledToken& token : tokens) {
    transcript.push_back((static_cast<uint64_t>(token.token_id) << 32) |
                         std::bit_cast<uint32_t>(token.logprob));
    for (const TokenLogprob& top : token.top_logprobs) {
      transcript.push_back((static_cast<uint64_t>(top.token_id) << 32) |
                           std::bit_cast<uint32_t>(top.logprob));
    }
  }
}

Transcript TranscriptOf(const FakeClient& client) {
  Transcript transcript;
  EXPECT_TRUE(client.result.has_value());
  if (client.result) {
    PHYLLO_EXPECT_OK(client.result->status);
  }
  EXPECT_EQ(client.tokens.size(), client.request.max_new_tokens);
  Append(client.scored_tokens, transcript);
  Append(client.tokens, transcript);
  return transcript;
}

class DeterminismTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<LocalStepModel> Load(const PrecisionChoice& precision,
                                              const Setting& setting) {
    absl::StatusOr<std::unique_ptr<LocalStepModel>> model =
        LocalStepModel::Load({.model_folder = absl::StrCat("tests/golden/data/models/", GetParam()),
                              .precision = precision,
                              .num_threads = setting.num_threads,
                              .max_rows = 256,
                              .max_logits_rows = 24,
                              .page_size = 16,
                              .kv_cache_bytes = int64_t{1} << 30,
                              .max_sequences = setting.page_count > 100 ? 64 : 1,
                              .max_sequence_length = 16 * setting.page_count});
    PHYLLO_EXPECT_OK(model);
    return model.ok() ? *std::move(model) : nullptr;
  }

  // The transcripts of all requests under a setting, in the order of their numbers. `pupils` learn
  // the answers.
  static std::vector<Transcript> Run(const PrecisionChoice& precision, const Setting& setting,
                                     absl::Span<ReplayDrafter* const> pupils = {}) {
    const std::unique_ptr<LocalStepModel> model = Load(precision, setting);
    std::vector<Transcript> transcripts(kRequestCount);
    if (model == nullptr) return transcripts;
    EngineOptions options = {.max_prefill_rows = setting.max_prefill_rows,
                             .prefix_cache = setting.prefix_cache};
    if (setting.drafter != nullptr) {
      options.speculation = {.mode = SpeculationMode::kOn, .drafter = setting.drafter};
    }
    EngineDriver driver(*model, std::move(options));
    std::vector<FakeClient*> clients(kRequestCount);
    for (int pass = 0; pass < setting.passes; ++pass) {
      for (int i = 0; i < kRequestCount; ++i) {
        const int index = setting.reversed ? kRequestCount - 1 - i : i;
        clients[index] = &driver.Add(MakeRequest(index, model->sizes().vocab_size));
        if (!setting.together) driver.Drive();
      }
      driver.Drive();
    }
    int64_t cached_count = 0;
    int64_t accepted_count = 0;
    int64_t rejected_count = 0;
    for (int i = 0; i < kRequestCount; ++i) {
      transcripts[i] = TranscriptOf(*clients[i]);
      if (!clients[i]->result) continue;
      const SequenceResult& result = *clients[i]->result;
      cached_count += result.cached_prompt_token_count;
      accepted_count += result.accepted_token_count;
      rejected_count += result.drafted_token_count - result.accepted_token_count;
      std::vector<int32_t> text = clients[i]->request.prompt_token_ids;
      const std::vector<int32_t> answer = clients[i]->token_ids();
      text.insert(text.end(), answer.begin(), answer.end());
      for (ReplayDrafter* const pupil : pupils) pupil->Learn(text);
    }
    if (setting.drafter != nullptr) {
      EXPECT_GT(accepted_count, 50) << setting.name;
      EXPECT_GT(rejected_count, 50) << setting.name;
    }
    if (!setting.prefix_cache) {
      EXPECT_EQ(cached_count, 0);
    } else if (setting.page_count > 100) {
      EXPECT_GT(cached_count, 0) << setting.name;
    }
    // Sequences that get several tokens a step may be done before they are in each other's way.
    if (setting.page_count < 100 && setting.drafter == nullptr) {
      EXPECT_GT(driver.engine().stats().preemption_count, 0);
    }
    return transcripts;
  }

  static void ExpectSameBits(const PrecisionChoice& precision) {
    // Vocabularies have no fewer tokens.
    ReplayDrafter drafter(/*vocab_size=*/256, /*error_rate=*/0.2);
    const std::vector<Transcript> expected =
        Run(precision, {.name = "alone", .together = false}, {&drafter});
    const std::vector<Setting> settings = {
        {.name = "together"},
        {.name = "reversed", .reversed = true},
        {.name = "chunks of 1", .max_prefill_rows = 1},
        {.name = "chunks of 7", .max_prefill_rows = 7},
        {.name = "chunks of 64, reversed", .max_prefill_rows = 64, .reversed = true},
        {.name = "two threads", .num_threads = 2},
        {.name = "two threads, alone, chunks of 7",
         .num_threads = 2,
         .max_prefill_rows = 7,
         .together = false},
        {.name = "with preemptions", .max_prefill_rows = 64, .page_count = 20},
        {.name = "from the prefix cache", .prefix_cache = true, .passes = 2},
        {.name = "from the prefix cache, alone, chunks of 7",
         .max_prefill_rows = 7,
         .together = false,
         .prefix_cache = true,
         .passes = 2},
        {.name = "from the prefix cache, two threads, reversed",
         .num_threads = 2,
         .reversed = true,
         .prefix_cache = true,
         .passes = 2},
        {.name = "with preemptions and prefix cache",
         .max_prefill_rows = 64,
         .page_count = 20,
         .prefix_cache = true,
         .passes = 2},
        {.name = "drafted", .drafter = &drafter},
        {.name = "drafted, two threads, chunks of 7, reversed",
         .num_threads = 2,
         .max_prefill_rows = 7,
         .reversed = true,
         .drafter = &drafter},
        {.name = "drafted, with preemptions and prefix cache",
         .max_prefill_rows = 64,
         .page_count = 20,
         .prefix_cache = true,
         .drafter = &drafter,
         .passes = 2}};
    for (const Setting& setting : settings) {
      const std::vector<Transcript> actual = Run(precision, setting);
      for (int i = 0; i < kRequestCount; ++i)
        EXPECT_EQ(actual[i], expected[i]) << setting.name << ", request " << i;
    }
  }
};

TEST_P(DeterminismTest, GivesTheSameBitsInF32) { ExpectSameBits({.base = Precision::kF32}); }

TEST_P(DeterminismTest, GivesTheSameBitsInBf16) { ExpectSameBits({.base = Precision::kBf16}); }

TEST_P(DeterminismTest, GivesTheSameBitsInInt8WithInt8KvCache) {
  ExpectSameBits({.base = Precision::kInt8, .kv_cache = Precision::kInt8});
}

TEST_P(DeterminismTest, GivesTheSameBitsInInt4) { ExpectSameBits({.base = Precision::kInt4}); }

INSTANTIATE_TEST_SUITE_P(Models, DeterminismTest,
                         ::testing::Values("minimind3", "qwen3", "gpt2", "qwen3_moe", "qwen2-swa"));

}  // namespace
}  // namespace phyllo
