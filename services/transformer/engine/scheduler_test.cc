#include "services/transformer/engine/scheduler.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {

inline bool operator==(const PlannedSlice& a, const PlannedSlice& b) {
  return a.id == b.id && a.row_count == b.row_count;
}
inline void PrintTo(const PlannedSlice& slice, std::ostream* os) {
  *os << "{" << slice.id << ", " << slice.row_count << "}";
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SchedulerOptions kOptions = {
    .max_rows = 10, .max_prefill_rows = 8, .max_sequences = 4, .page_size = 4};

// A running sequence whose next row is that of its last sampled token.
SequenceSnapshot Decoding(SequenceId id, int64_t computed, int64_t pages) {
  return {.id = id,
          .running = true,
          .computed_count = computed,
          .ready_count = computed + 1,
          .token_count = computed + 1,
          .page_count = pages};
}

SequenceSnapshot Prefilling(SequenceId id, int64_t computed, int64_t tokens, int64_t pages) {
  return {.id = id,
          .running = true,
          .computed_count = computed,
          .ready_count = tokens,
          .token_count = tokens,
          .page_count = pages};
}

SequenceSnapshot Waiting(SequenceId id, int64_t tokens) {
  return {.id = id, .ready_count = tokens, .token_count = tokens};
}

TEST(SchedulerTest, GivesDecodeItsRowsBeforeEarlierPrompts) {
  Scheduler scheduler({.max_rows = 4, .max_prefill_rows = 4, .max_sequences = 4, .page_size = 4});
  const StepPlan& plan =
      scheduler.PlanStep({Prefilling(1, 0, 20, 0), Decoding(2, 5, 2), Decoding(3, 6, 2)}, 10);
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 2}, PlannedSlice{2, 1}, PlannedSlice{3, 1}));
}

TEST(SchedulerTest, CutsPromptsToTheBudget) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 0, 20, 0), Prefilling(2, 0, 20, 0)}, 20).slices,
              ElementsAre(PlannedSlice{1, 8}));
}

TEST(SchedulerTest, FillsTheBudgetFromTheNextPrompt) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 15, 20, 4), Prefilling(2, 0, 20, 0)}, 20).slices,
              ElementsAre(PlannedSlice{1, 5}, PlannedSlice{2, 3}));
}

TEST(SchedulerTest, PlansOnlyRowsThatAreAtHand) {
  Scheduler scheduler(kOptions);
  SequenceSnapshot sequence = Prefilling(1, 4, 20, 1);
  sequence.ready_count = 7;
  EXPECT_THAT(scheduler.PlanStep({sequence}, 20).slices, ElementsAre(PlannedSlice{1, 3}));
  sequence.ready_count = 4;
  EXPECT_THAT(scheduler.PlanStep({sequence}, 20).slices, IsEmpty());
}

TEST(SchedulerTest, AdmitsInOrderUpToTheNumberOfSequences) {
  Scheduler scheduler({.max_rows = 10, .max_prefill_rows = 10, .max_sequences = 3, .page_size = 4});
  const StepPlan& plan =
      scheduler.PlanStep({Decoding(1, 3, 1), Waiting(2, 3), Waiting(3, 4), Waiting(4, 1)}, 20);
  EXPECT_THAT(plan.admitted, ElementsAre(2, 3));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}, PlannedSlice{2, 3}, PlannedSlice{3, 4}));
}

TEST(SchedulerTest, AdmitsNobodyPastTheFirstThatDoesNotFit) {
  Scheduler scheduler(kOptions);
  // The second needs 5 pages and one stays free for the growth of the first; the third would fit.
  const StepPlan& plan = scheduler.PlanStep({Decoding(1, 2, 1), Waiting(2, 20), Waiting(3, 1)}, 5);
  EXPECT_THAT(plan.admitted, IsEmpty());
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}));
}

TEST(SchedulerTest, CountsPagesThatRunningPromptsWillStillTake) {
  Scheduler scheduler(kOptions);
  // The first takes 2 of 8 pages now and 3 later; 3 are left, minus one for its growth: 8 tokens
  // fit, 9 do not.
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 0, 20, 0), Waiting(2, 9)}, 8).admitted, IsEmpty());
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 0, 20, 0), Waiting(2, 8)}, 8).admitted,
              ElementsAre(2));
}

TEST(SchedulerTest, AdmitsASequenceThatNeedsTheWholeCacheWhenAlone) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Waiting(1, 20)}, 5).admitted, ElementsAre(1));
}

TEST(SchedulerTest, PreemptsTheLastServedWhenPagesRunOut) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan =
      scheduler.PlanStep({Decoding(1, 4, 1), Decoding(2, 5, 2), Decoding(3, 5, 2)}, 0);
  EXPECT_THAT(plan.preempted, ElementsAre(3));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}, PlannedSlice{2, 1}));
}

TEST(SchedulerTest, PreemptsSeveralWhenOneIsNotEnough) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan = scheduler.PlanStep(
      {Prefilling(1, 0, 8, 0), Prefilling(2, 0, 20, 1), Prefilling(3, 0, 20, 1)}, 0);
  EXPECT_THAT(plan.preempted, ElementsAre(3, 2));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 8}));
}

TEST(SchedulerTest, TakesBackTheRowsOfASequenceItPreempts) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan = scheduler.PlanStep({Prefilling(1, 4, 8, 1), Decoding(2, 2, 1)}, 0);
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 4}));
}

TEST(SchedulerTest, StallsTheLastServedItself) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan = scheduler.PlanStep({Decoding(1, 2, 1), Decoding(2, 4, 1)}, 0);
  EXPECT_THAT(plan.preempted, IsEmpty());
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}));
}

TEST(SchedulerTest, ShortensAPromptToTheFreePages) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 2, 20, 1)}, 1).slices,
              ElementsAre(PlannedSlice{1, 6}));
}

TEST(SchedulerTest, AdmitsNobodyInAStepThatPreempts) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan =
      scheduler.PlanStep({Decoding(1, 4, 1), Decoding(2, 15, 4), Waiting(3, 1)}, 0);
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.admitted, IsEmpty());
}

}  // namespace
}  // namespace phyllo
