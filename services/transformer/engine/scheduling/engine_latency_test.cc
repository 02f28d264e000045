// Prompts arrive while others generate: how long do those wait for their tokens? On a simulated
// clock, with a model whose steps take the time that its rows and keys cost.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/scheduling/measure_step_cost.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

constexpr int64_t kStreams = 8;
constexpr int64_t kPromptTokens = 512;

// As a model of half a billion parameters on two cores: 16 ms to read the weights, under which 8
// rows hide, 1 ms for each further row; attention on top.
absl::Duration TrueCost(absl::Span<const StepSlice> slices) {
  int64_t rows = 0;
  int64_t keys = 0;
  for (const StepSlice& slice : slices) {
    rows += slice.row_count;
    keys += KeysRead(slice.first_position, slice.row_count);
  }
  return absl::Milliseconds(16) +
         static_cast<double>(std::max<int64_t>(0, rows - 8)) * absl::Milliseconds(1) +
         static_cast<double>(keys) * absl::Nanoseconds(500);
}

std::vector<int32_t> Prompt(int64_t size) {
  std::vector<int32_t> prompt(size);
  for (int64_t i = 0; i < size; ++i) prompt[i] = static_cast<int32_t>(i * i % 11);
  return prompt;
}

struct Latencies {
  absl::Duration median;
  absl::Duration p99;
  absl::Duration prefill;  // of the last prompt, from arrival to first token
};

absl::Duration Quantile(std::vector<absl::Duration> durations, double quantile) {
  std::sort(durations.begin(), durations.end());
  return durations[static_cast<size_t>(quantile * static_cast<double>(durations.size() - 1))];
}

// 400 steps of kStreams that decode; a prompt arrives every `steps_between` steps.
Latencies Simulate(bool with_cost, int steps_between) {
  FakeStepModel model(/*page_count=*/600, /*page_size=*/16, /*max_rows=*/520);
  EngineOptions options = {.max_prefill_rows = 512, .prefix_cache = false};
  absl::Time measuring = absl::UnixEpoch();
  if (with_cost) {
    model.set_on_slices([&](absl::Span<const StepSlice> slices) { measuring += TrueCost(slices); });
    absl::StatusOr<StepCostTable> cost = MeasureStepCost(model, {.now = [&] { return measuring; }});
    PHYLLO_EXPECT_OK(cost);
    options.step_cost = *cost;
  }
  EngineDriver driver(model, options);
  model.set_on_slices(
      [&](absl::Span<const StepSlice> slices) { driver.Advance(TrueCost(slices)); });
  for (int64_t i = 0; i < kStreams; ++i) {
    SequenceRequest request = EngineDriver::Request(Prompt(4 + i), 900);
    request.ignore_eos = true;
    driver.Add(request);
  }
  for (int i = 0; i < 4; ++i) driver.Step();
  std::vector<absl::Duration> gaps;
  FakeClient* last_prompt = nullptr;
  for (int i = 0; i < 400; ++i) {
    if (i % steps_between == 0)
      last_prompt = &driver.Add(EngineDriver::Request(Prompt(kPromptTokens), 1));
    const absl::Time before = driver.now();
    driver.Step();
    gaps.push_back(driver.now() - before);
  }
  driver.Drive();
  EXPECT_TRUE(last_prompt->result && last_prompt->result->status.ok());
  return {Quantile(gaps, 0.5), Quantile(gaps, 0.99),
          last_prompt->result->queue_time + last_prompt->result->prefill_time};
}

TEST(EngineLatencyTest, P99StaysWithinThreeTimesTheMedianWhilePromptsArrive) {
  for (const int steps_between : {200, 50, 25, 10}) {
    SCOPED_TRACE(steps_between);
    const Latencies latencies = Simulate(/*with_cost=*/true, steps_between);
    EXPECT_LE(latencies.p99, 3 * latencies.median);
  }
}

TEST(EngineLatencyTest, PromptIsReadInAFewTimesTheTimeItTakesAlone) {
  const Latencies latencies = Simulate(/*with_cost=*/true, /*steps_between=*/50);
  // Alone 0.6 s.
  EXPECT_LE(latencies.prefill, absl::Milliseconds(1300));
}

TEST(EngineLatencyTest, WithoutACostPromptsHoldTheOthersUp) {
  const Latencies latencies = Simulate(/*with_cost=*/false, /*steps_between=*/50);
  EXPECT_GT(latencies.p99, 10 * latencies.median) << "the test does not test what it says";
}

}  // namespace
}  // namespace phyllo
