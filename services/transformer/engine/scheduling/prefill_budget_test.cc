#include "services/transformer/engine/scheduling/prefill_budget.h"

#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

// 10 ms, and 1 ms a row: a step of 8 takes 18 ms.
StepCost LinearCost(double seconds_per_key = 0.0) {
  absl::StatusOr<StepCost> cost = StepCost::Create(
      {.forward = {{1, 0.011}, {1001, 1.011}}, .seconds_per_key = seconds_per_key});
  PHYLLO_EXPECT_OK(cost);
  return *std::move(cost);
}

SequenceSnapshot Decoding(int64_t token_count) {
  return {.running = true,
          .computed_count = token_count - 1,
          .ready_count = token_count,
          .token_count = token_count};
}

std::vector<SequenceSnapshot> DecodingAndPrompt(int64_t decode_count, int64_t prompt_position) {
  std::vector<SequenceSnapshot> sequences(decode_count, Decoding(100));
  sequences.push_back(
      {.running = true, .computed_count = prompt_position, .token_count = prompt_position + 5000});
  return sequences;
}

TEST(PrefillBudgetTest, IsTheMaximumWhereNothingDecodesOrNothingIsKnown) {
  const StepCost cost = LinearCost();
  const PrefillBudget budget(&cost, {.max_rows = 512});
  EXPECT_EQ(budget.RowsFor(DecodingAndPrompt(0, 0)), 512);
  const PrefillBudget unknown(/*cost=*/nullptr, {.max_rows = 512});
  EXPECT_EQ(unknown.RowsFor(DecodingAndPrompt(8, 0)), 512);
}

TEST(PrefillBudgetTest, KeepsStepsWithinTheStretch) {
  const StepCost cost = LinearCost();
  const PrefillBudget budget(&cost, {.max_step_stretch = 3.0, .max_rows = 512});
  // 54 ms: 36 rows more, 44 in all, rounded down to 32.
  EXPECT_EQ(budget.RowsFor(DecodingAndPrompt(8, 0)), 24);
  // 42 ms * 3: 84 rows more are 116, 112 rounded.
  EXPECT_EQ(budget.RowsFor(DecodingAndPrompt(32, 0)), 80);
}

TEST(PrefillBudgetTest, NeverFallsBelowTheMinimumNorExceedsTheMaximum) {
  const StepCost cost = LinearCost();
  const PrefillBudget tight(&cost, {.max_step_stretch = 1.0, .max_rows = 512});
  EXPECT_EQ(tight.RowsFor(DecodingAndPrompt(8, 0)), 16);
  const PrefillBudget small(&cost, {.max_step_stretch = 1.0, .max_rows = 4});
  EXPECT_EQ(small.RowsFor(DecodingAndPrompt(8, 0)), 4);
  const PrefillBudget wide(&cost, {.max_step_stretch = 100.0, .max_rows = 64});
  EXPECT_EQ(wide.RowsFor(DecodingAndPrompt(8, 0)), 64);
}

TEST(PrefillBudgetTest, ShrinksAsThePromptGetsLonger) {
  // Behind 4000 tokens a row costs 5 ms in place of 1.
  const StepCost cost = LinearCost(1e-6);
  const PrefillBudget budget(&cost, {.max_step_stretch = 20.0, .max_rows = 512});
  const int64_t at_start = budget.RowsFor(DecodingAndPrompt(8, 0));
  const int64_t behind = budget.RowsFor(DecodingAndPrompt(8, 4000));
  EXPECT_LT(behind, at_start / 2);
  EXPECT_GE(behind, 16);
}

TEST(PrefillBudgetTest, CountsTheRowsAndKeysOfDrafts) {
  const StepCost cost = LinearCost(1e-5);
  const PrefillBudget budget(&cost, {.max_step_stretch = 3.0, .max_rows = 512});
  std::vector<SequenceSnapshot> drafting = DecodingAndPrompt(8, 0);
  for (int i = 0; i < 8; ++i) drafting[i].draft_count = 3;
  // As 32 sequences at nearly the same length.
  EXPECT_EQ(budget.RowsFor(drafting), budget.RowsFor(DecodingAndPrompt(32, 0)));
  EXPECT_GT(budget.RowsFor(drafting), budget.RowsFor(DecodingAndPrompt(8, 0)));
}

TEST(PrefillBudgetTest, AllowsWhatIsUsualOnceWaitingPromptsDecode) {
  const StepCost cost = LinearCost();
  const PrefillBudget budget(&cost, {.max_step_stretch = 3.0, .max_rows = 512});
  std::vector<SequenceSnapshot> sequences = DecodingAndPrompt(2, 0);
  sequences.resize(32, sequences.back());
  // Of 32 that decode a step takes 42 ms; three times that leave room for 116 rows, 112 rounded.
  EXPECT_EQ(budget.RowsFor(sequences), 110);
}

TEST(PrefillBudgetTest, CountsNoMoreThanMayDecodeTogether) {
  const StepCost cost = LinearCost();
  const PrefillBudget budget(&cost, {.max_step_stretch = 3.0, .max_sequences = 8, .max_rows = 512});
  std::vector<SequenceSnapshot> sequences = DecodingAndPrompt(2, 0);
  sequences.resize(8, sequences.back());
  const int64_t of_eight = budget.RowsFor(sequences);
  sequences.resize(500, sequences.back());
  EXPECT_EQ(budget.RowsFor(sequences), of_eight);
}

TEST(PrefillBudgetTest, DoesNotCountPromptsThatGenerateNothing) {
  const StepCost cost = LinearCost();
  const PrefillBudget budget(&cost, {.max_step_stretch = 3.0, .max_rows = 512});
  std::vector<SequenceSnapshot> sequences = DecodingAndPrompt(8, 0);
  sequences.back().generates = false;
  const int64_t of_eight = budget.RowsFor(sequences);
  sequences.resize(40, sequences.back());
  EXPECT_EQ(budget.RowsFor(sequences), of_eight);
}

TEST(PrefillBudgetTest, FollowsTheCost) {
  StepCost cost = LinearCost();
  const PrefillBudget budget(&cost, {.max_step_stretch = 3.0, .max_rows = 512});
  // Prompt rows turn out to be four times as cheap.
  for (int i = 0; i < 200; ++i) {
    cost.Observe({.row_count = 8, .decode_key_count = 800}, absl::Milliseconds(18));
    cost.Observe({.row_count = 512, .decode_key_count = 800}, absl::Milliseconds(134));
  }
  EXPECT_GT(budget.RowsFor(DecodingAndPrompt(8, 0)), 100);
}

}  // namespace
}  // namespace phyllo
