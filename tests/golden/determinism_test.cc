// The determinism contract on the forward pass: the logits of a request, bit by bit, and so its
// greedy tokens, depend on its prompt only. Not on what else is in the step, in which order, on how
// the prompt is cut into chunks, on the number of threads, or on which pages it gets and what they
// held before.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/tensor/linear_input.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/testing/model_runner.h"

namespace phyllo {
namespace {

constexpr int64_t kRequests = 16;
constexpr int64_t kLongestPrompt = 130;
constexpr int64_t kGeneratedTokens = 12;
constexpr int64_t kWhole = kLongestPrompt;

// A request under way.
struct Request {
  std::vector<int32_t> token_ids;  // prompt, then what was generated
  int64_t prompt_length = 0;
  int64_t computed = 0;  // tokens in the cache
  std::unique_ptr<SequencePages> pages;
  std::vector<float> logits;  // [computed, v]

  bool done() const { return computed == prompt_length + kGeneratedTokens - 1; }
  // The next chunk of the prompt, or the token generated last.
  absl::Span<const int32_t> Next(int64_t chunk) const {
    return absl::MakeConstSpan(token_ids).subspan(computed, computed < prompt_length ? chunk : 1);
  }
};

// Advances all requests of `batch` that are not done by one step.
void RunStep(ModelRunner& runner, int64_t chunk, absl::Span<Request* const> batch) {
  std::vector<SequenceChunk> chunks;
  for (const Request* const request : batch) {
    if (request->done()) continue;
    chunks.push_back({.pages = request->pages.get(),
                      .first_position = request->computed,
                      .prompt_length = request->prompt_length,
                      .token_ids = request->Next(chunk)});
  }
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner.Step(chunks));
  const int64_t v = runner.vocab_size();
  auto row = logits.begin();
  for (Request* const request : batch) {
    if (request->done()) continue;
    const int64_t count = static_cast<int64_t>(request->Next(chunk).size());
    request->logits.insert(request->logits.end(), row, row + count * v);
    request->computed += count;
    row += count * v;
    if (request->computed == static_cast<int64_t>(request->token_ids.size())) {
      request->token_ids.push_back(
          static_cast<int32_t>(ArgmaxOf(absl::MakeConstSpan(request->logits).last(v))));
    }
  }
}

// How the requests are run.
struct Schedule {
  bool together = false;  // all in every step, or one request after the other
  bool reversed = false;  // order of the requests
  int64_t chunk = kWhole;

  std::string ToString() const {
    return std::string(together ? "together" : "alone") + (reversed ? ", reversed" : "") +
           ", chunks of " + std::to_string(chunk);
  }
};

// A model and a --precision.
class DeterminismTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  std::unique_ptr<ModelRunner> LoadRunner(int num_threads) {
    const std::string folder = std::string("tests/golden/data/models/") + std::get<0>(GetParam());
    const absl::StatusOr<PrecisionChoice> choice = ParsePrecisionChoice(std::get<1>(GetParam()));
    EXPECT_THAT(choice, IsOk());
    if (!choice.ok()) return nullptr;
    auto runner = ModelRunner::Load(
        folder,
        {.precision = choice->Resolve(Precision::kF32),
         .num_threads = num_threads,
         .max_rows = kRequests * kLongestPrompt,
         .page_size = 16,
         .kv_page_count = kRequests * (kLongestPrompt + kGeneratedTokens) / 16 + kRequests});
    EXPECT_THAT(runner, IsOk());
    return runner.ok() ? *std::move(runner) : nullptr;
  }

  // Runs the same 16 random prompts, of lengths 1 to kLongestPrompt, to their end.
  std::vector<Request> Run(ModelRunner& runner, const Schedule& schedule) {
    std::mt19937 random(7);
    std::vector<Request> requests(kRequests);
    for (int64_t i = 0; i < kRequests; ++i) {
      requests[i].prompt_length = 1 + i * (kLongestPrompt - 1) / (kRequests - 1);
      for (int64_t t = 0; t < requests[i].prompt_length; ++t) {
        requests[i].token_ids.push_back(static_cast<int32_t>(random() % runner.vocab_size()));
      }
    }
    std::vector<Request*> order;
    for (Request& request : requests) order.push_back(&request);
    if (schedule.reversed) std::reverse(order.begin(), order.end());
    const size_t batch_size = schedule.together ? order.size() : 1;
    for (size_t begin = 0; begin < order.size() && !HasFatalFailure(); begin += batch_size) {
      const absl::Span<Request* const> batch =
          absl::MakeConstSpan(order).subspan(begin, batch_size);
      for (Request* const request : batch)
        request->pages = std::make_unique<SequencePages>(runner.NewSequence());
      const auto all_done = [&] {
        return std::all_of(batch.begin(), batch.end(), [](Request* r) { return r->done(); });
      };
      while (!all_done() && !HasFatalFailure()) RunStep(runner, schedule.chunk, batch);
      for (Request* const request : batch) request->pages->Clear();
    }
    return requests;
  }
};

std::vector<Schedule> AllSchedules() {
  std::vector<Schedule> schedules;
  for (const int64_t chunk : {int64_t{1}, int64_t{7}, int64_t{64}, kWhole}) {
    schedules.push_back({.together = false, .chunk = chunk});
    schedules.push_back({.together = true, .chunk = chunk});
    schedules.push_back({.together = true, .reversed = true, .chunk = chunk});
  }
  return schedules;
}

TEST_P(DeterminismTest, LogitsAreTheSameBitsWhateverTheSchedule) {
  const std::unique_ptr<ModelRunner> one_thread = LoadRunner(1);
  const std::unique_ptr<ModelRunner> two_threads = LoadRunner(2);
  ASSERT_TRUE(one_thread != nullptr && two_threads != nullptr);
  const std::vector<Request> want = Run(*one_thread, {.together = false, .chunk = kWhole});
  ASSERT_FALSE(HasFatalFailure());
  for (ModelRunner* const runner : {one_thread.get(), two_threads.get()}) {
    for (const Schedule& schedule : AllSchedules()) {
      SCOPED_TRACE(schedule.ToString() +
                   (runner == two_threads.get() ? ", 2 threads" : ", 1 thread"));
      const std::vector<Request> got = Run(*runner, schedule);
      ASSERT_FALSE(HasFatalFailure());
      for (int64_t i = 0; i < kRequests; ++i) {
        ASSERT_EQ(got[i].token_ids, want[i].token_ids) << "request " << i;
        ASSERT_EQ(got[i].logits.size(), want[i].logits.size()) << "request " << i;
        ASSERT_EQ(std::memcmp(got[i].logits.data(), want[i].logits.data(),
                              want[i].logits.size() * sizeof(float)),
                  0)
            << "request " << i;
      }
    }
  }
}

std::string CaseName(const testing::TestParamInfo<std::tuple<const char*, const char*>>& info) {
  std::string name;
  for (const char c : absl::StrCat(std::get<0>(info.param), "_", std::get<1>(info.param)))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, DeterminismTest,
    testing::Combine(testing::Values("gpt2", "qwen3", "llama-gqa", "llama-dynamic", "mistral-swa",
                                     "qwen3_moe", "minimind2-moe"),
                     testing::Values("f32", "bf16", "int8", "int8,kv_cache=int8", "int4")),
    CaseName);

// Modules that differ share buffers, and some read their input twice.
INSTANTIATE_TEST_SUITE_P(
    MixedPrecisions, DeterminismTest,
    testing::Combine(testing::Values("gpt2", "stablelm-parallel", "qwen3_moe"),
                     testing::Values("int8,attention=bf16,lm_head=f32",
                                     "bf16,attention=int4,lm_head=int4,kv_cache=int8")),
    CaseName);

}  // namespace
}  // namespace phyllo
