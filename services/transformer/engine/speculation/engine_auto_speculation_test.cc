// Automatic speculation over a fake model whose steps take time on a fake clock: it drafts where
// that pays, and hardly loses where it does not, whatever it was told of the costs.
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/sampling/philox.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/speculation/drafter.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"
#include "services/transformer/engine/testing/replay_drafter.h"

namespace phyllo {
namespace {

constexpr int64_t kTokens = 200;

// Seconds, and how often the drafter errs.
struct Case {
  double table_row = 0.0;   // of a row, as the engine is told; a step takes a second more
  double row = 0.0;         // in truth
  double round = 0.0;       // of the drafter
  double first_call = 0.0;  // in which the drafter catches up with the prompt
  double error_rate = 0.0;
};

// A drafter that takes its time.
class SlowDrafter final : public Drafter {
 public:
  SlowDrafter(ReplayDrafter& drafter, const Case& of) : drafter_(drafter), case_(of) {}

  DraftWork Draft(absl::Span<const DraftTask> tasks) override {
    DraftWork work = drafter_.Draft(tasks);
    advance(absl::Seconds(case_.round * static_cast<double>(work.round_count)));
    if (std::exchange(first_, false)) {
      advance(absl::Seconds(case_.first_call));
      work.token_row_count = 100;
    }
    return work;
  }
  void Forget(SequenceId id) override { drafter_.Forget(id); }

  std::function<void(absl::Duration)> advance;  // the clock

 private:
  ReplayDrafter& drafter_;
  const Case case_;
  bool first_ = true;
};

std::vector<int32_t> Prompt() {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < 4; ++i)
    ids.push_back(static_cast<int32_t>(UniformDraw(5, /*choice=*/0, i) * 13));
  return ids;
}

// The times of an answer, and what was drafted for it.
SequenceResult Answer(const Case& of, SpeculationMode mode = SpeculationMode::kAuto) {
  const std::vector<int32_t> answer = FakeStepModel::GreedyContinuation(Prompt(), kTokens);
  ReplayDrafter replay(FakeStepModel::kVocabSize, of.error_rate);
  std::vector<int32_t> text = Prompt();
  text.insert(text.end(), answer.begin(), answer.end());
  replay.Learn(std::move(text));
  SlowDrafter drafter(replay, of);
  StepCostTable table;
  for (const int64_t rows : {1, 2, 4, 8, 16, 32, 64})
    table.forward.push_back({rows, 1.0 + of.table_row * static_cast<double>(rows)});
  FakeStepModel model(100, 4);
  EngineDriver driver(
      model,
      {.step_cost = table,
       .speculation = {.mode = mode, .max_draft_tokens = 5, .ngrams = false, .drafter = &drafter}});
  drafter.advance = [&](absl::Duration duration) { driver.Advance(duration); };
  model.set_on_slices([&](absl::Span<const StepSlice> slices) {
    driver.Advance(absl::Seconds(1.0 + of.row * static_cast<double>(slices[0].row_count)));
  });
  const FakeClient& client = driver.Add(EngineDriver::Request(Prompt(), kTokens));
  driver.Drive();
  EXPECT_EQ(client.token_ids(), answer);
  return *client.result;
}

// How many times as long as without drafts the answer takes.
double TimeWith(const Case& of) {
  return absl::FDivDuration(Answer(of).decode_time, Answer(of, SpeculationMode::kOff).decode_time);
}

TEST(EngineAutoSpeculationTest, TurnsItselfOffWhereDraftsAreWrong) {
  EXPECT_LT(Answer({.table_row = 0.1, .row = 0.1, .error_rate = 1.0}).drafted_token_count, 60);
  EXPECT_GT(Answer({.table_row = 0.1, .row = 0.1, .error_rate = 0.0}).accepted_token_count, 150);
}

TEST(EngineAutoSpeculationTest, TurnsItselfOffWhereRowsCostTooMuch) {
  EXPECT_EQ(Answer({.table_row = 1000.0, .row = 1000.0, .error_rate = 0.3}).drafted_token_count, 0);
}

TEST(EngineAutoSpeculationTest, LosesAFewPercentWhateverTheTableSaysOfRows) {
  for (const double row : {0.05, 0.3, 2.0}) {
    for (const double error_rate : {1.0, 0.8, 0.6}) {
      const Case of = {.table_row = 0.001, .row = row, .error_rate = error_rate};
      EXPECT_GT(Answer(of).drafted_token_count, 0);
      EXPECT_LE(TimeWith(of), 1.05) << row << " " << error_rate;
    }
  }
}

TEST(EngineAutoSpeculationTest, LosesAFewPercentByADrafterThatIsTooSlow) {
  for (const double error_rate : {1.0, 0.6, 0.2}) {
    const Case of = {.table_row = 0.01, .row = 0.01, .round = 1.5, .error_rate = error_rate};
    EXPECT_LE(TimeWith(of), 1.1) << error_rate;
  }
}

TEST(EngineAutoSpeculationTest, GainsWhereDraftsPay) {
  EXPECT_LE(TimeWith({.table_row = 0.1, .row = 0.1, .error_rate = 0.0}), 0.4);
  EXPECT_LE(TimeWith({.table_row = 0.001, .row = 0.1, .error_rate = 0.3}), 0.8);
  EXPECT_LE(TimeWith({.table_row = 0.1, .row = 0.1, .round = 0.1, .error_rate = 0.1}), 0.6);
}

TEST(EngineAutoSpeculationTest, ALongFirstCallOfTheDrafterPaysOff) {
  const Case of = {.table_row = 0.05, .row = 0.05, .round = 0.1, .first_call = 20.0};
  EXPECT_LE(TimeWith(of), 0.7);
}

}  // namespace
}  // namespace phyllo
