#include "services/transformer/engine/scheduling/scheduler.h"

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

// A pool of one group; as large as no test can use up.
std::vector<SchedulerGroup> OneGroup() { return {{.page_count = 100}}; }

const SchedulerOptions kOptions = {.max_rows = 10,
                                   .max_prefill_rows = 8,
                                   .max_sequences = 4,
                                   .page_size = 4,
                                   .groups = OneGroup()};

// A running sequence whose next row is that of its last sampled token.
SequenceSnapshot Decoding(SequenceId id, int64_t computed, int64_t pages) {
  return {.id = id,
          .running = true,
          .computed_count = computed,
          .ready_count = computed + 1,
          .token_count = computed + 1,
          .page_count = pages,
          .held = {pages},
          .sole = {pages}};
}

SequenceSnapshot Prefilling(SequenceId id, int64_t computed, int64_t tokens, int64_t pages) {
  return {.id = id,
          .running = true,
          .computed_count = computed,
          .ready_count = tokens,
          .token_count = tokens,
          .page_count = pages,
          .held = {pages},
          .sole = {pages}};
}

SequenceSnapshot Waiting(SequenceId id, int64_t tokens) {
  return {.id = id, .ready_count = tokens, .token_count = tokens};
}

TEST(SchedulerTest, GivesDecodeItsRowsBeforeEarlierPrompts) {
  Scheduler scheduler({.max_rows = 4,
                       .max_prefill_rows = 4,
                       .max_sequences = 4,
                       .page_size = 4,
                       .groups = OneGroup()});
  const StepPlan& plan =
      scheduler.PlanStep({Prefilling(1, 0, 20, 0), Decoding(2, 5, 2), Decoding(3, 6, 2)}, {10});
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 2}, PlannedSlice{2, 1}, PlannedSlice{3, 1}));
}

TEST(SchedulerTest, MayPreemptOnlyWhereAStepCouldUseUpThePages) {
  Scheduler scheduler(kOptions);
  // Each of 3 may begin a page, 10 rows fill 3.
  EXPECT_TRUE(scheduler.MayPreempt(/*sequence_count=*/3, {5}));
  EXPECT_FALSE(scheduler.MayPreempt(/*sequence_count=*/3, {6}));
  // Whose pages end with the last computed row: as many new ones as there can be.
  const StepPlan& plan =
      scheduler.PlanStep({Prefilling(1, 4, 8, 1), Prefilling(2, 8, 12, 2), Decoding(3, 4, 1)}, {6});
  EXPECT_THAT(plan.preempted, IsEmpty());
}

TEST(SchedulerTest, MayPreemptForTheGroupWithTheFewestFreePages) {
  SchedulerOptions options = kOptions;
  options.groups.push_back({.window = 8, .page_count = 100});
  const Scheduler scheduler(options);
  EXPECT_FALSE(scheduler.MayPreempt(/*sequence_count=*/3, {6, 6}));
  EXPECT_TRUE(scheduler.MayPreempt(/*sequence_count=*/3, {6, 5}));
}

TEST(SchedulerTest, CutsPromptsToTheBudget) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 0, 20, 0), Prefilling(2, 0, 20, 0)}, {20}).slices,
              ElementsAre(PlannedSlice{1, 8}));
}

TEST(SchedulerTest, FillsTheBudgetFromTheNextPrompt) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 15, 20, 4), Prefilling(2, 0, 20, 0)}, {20}).slices,
              ElementsAre(PlannedSlice{1, 5}, PlannedSlice{2, 3}));
}

TEST(SchedulerTest, PlansOnlyRowsThatAreAtHand) {
  Scheduler scheduler(kOptions);
  SequenceSnapshot sequence = Prefilling(1, 4, 20, 1);
  sequence.ready_count = 7;
  EXPECT_THAT(scheduler.PlanStep({sequence}, {20}).slices, ElementsAre(PlannedSlice{1, 3}));
  sequence.ready_count = 4;
  EXPECT_THAT(scheduler.PlanStep({sequence}, {20}).slices, IsEmpty());
}

TEST(SchedulerTest, AdmitsInOrderUpToTheNumberOfSequences) {
  Scheduler scheduler({.max_rows = 10,
                       .max_prefill_rows = 10,
                       .max_sequences = 3,
                       .page_size = 4,
                       .groups = OneGroup()});
  const StepPlan& plan =
      scheduler.PlanStep({Decoding(1, 3, 1), Waiting(2, 3), Waiting(3, 4), Waiting(4, 1)}, {20});
  EXPECT_THAT(plan.admitted, ElementsAre(2, 3));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}, PlannedSlice{2, 3}, PlannedSlice{3, 4}));
}

TEST(SchedulerTest, AdmitsNobodyPastTheFirstThatDoesNotFit) {
  Scheduler scheduler(kOptions);
  // The second needs 5 pages and one stays free for the growth of the first; the third would fit.
  const StepPlan& plan =
      scheduler.PlanStep({Decoding(1, 2, 1), Waiting(2, 20), Waiting(3, 1)}, {5});
  EXPECT_THAT(plan.admitted, IsEmpty());
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}));
}

TEST(SchedulerTest, CountsPagesThatRunningPromptsWillStillTake) {
  Scheduler scheduler(kOptions);
  // The first takes 2 of 8 pages now and 3 later; 3 are left, minus one for its growth: 8 tokens
  // fit, 9 do not.
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 0, 20, 0), Waiting(2, 9)}, {8}).admitted,
              IsEmpty());
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 0, 20, 0), Waiting(2, 8)}, {8}).admitted,
              ElementsAre(2));
}

TEST(SchedulerTest, AdmitsASequenceThatNeedsTheWholeCacheWhenAlone) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Waiting(1, 20)}, {5}).admitted, ElementsAre(1));
}

TEST(SchedulerTest, PreemptsTheLastServedWhenPagesRunOut) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan =
      scheduler.PlanStep({Decoding(1, 4, 1), Decoding(2, 5, 2), Decoding(3, 5, 2)}, {0});
  EXPECT_THAT(plan.preempted, ElementsAre(3));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}, PlannedSlice{2, 1}));
}

TEST(SchedulerTest, PreemptsSeveralWhenOneIsNotEnough) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan = scheduler.PlanStep(
      {Prefilling(1, 0, 8, 0), Prefilling(2, 0, 20, 1), Prefilling(3, 0, 20, 1)}, {0});
  EXPECT_THAT(plan.preempted, ElementsAre(3, 2));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 8}));
}

TEST(SchedulerTest, TakesBackTheRowsOfASequenceItPreempts) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan = scheduler.PlanStep({Prefilling(1, 4, 8, 1), Decoding(2, 2, 1)}, {0});
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 4}));
}

TEST(SchedulerTest, StallsTheLastServedItself) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan = scheduler.PlanStep({Decoding(1, 2, 1), Decoding(2, 4, 1)}, {0});
  EXPECT_THAT(plan.preempted, IsEmpty());
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}));
}

TEST(SchedulerTest, ShortensAPromptToTheFreePages) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Prefilling(1, 2, 20, 1)}, {1}).slices,
              ElementsAre(PlannedSlice{1, 6}));
}

TEST(SchedulerTest, ComputesOnlyWhatThePrefixCacheLacks) {
  Scheduler scheduler(kOptions);
  // 10 of 14 tokens lie in 3 pages, of which it takes one, a copy, from the free ones; with one for
  // the rest and one for the growth of the first, 3 are enough.
  SequenceSnapshot cached = Waiting(2, 14);
  cached.computed_count = 10;
  cached.page_count = 3;
  cached.held = {3};
  cached.sole = {1};
  EXPECT_THAT(scheduler.PlanStep({Decoding(1, 2, 1), cached}, {2}).admitted, IsEmpty());
  const StepPlan& plan = scheduler.PlanStep({Decoding(1, 2, 1), cached}, {3});
  EXPECT_THAT(plan.admitted, ElementsAre(2));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}, PlannedSlice{2, 4}));
}

TEST(SchedulerTest, GoesOnPreemptingWhileOthersHoldTheSamePages) {
  Scheduler scheduler(kOptions);
  SequenceSnapshot second = Decoding(2, 3, 1);
  SequenceSnapshot third = Decoding(3, 3, 1);
  second.sole = third.sole = {0};
  const StepPlan& plan = scheduler.PlanStep({Decoding(1, 4, 1), second, third}, {0});
  EXPECT_THAT(plan.preempted, ElementsAre(3, 2));
  EXPECT_THAT(plan.slices, IsEmpty());  // their page is free in the next step
}

// The first group sees everything, the second 6 tokens: with chunks of 8 it holds 13 tokens in up
// to 4 pages.
class SchedulerGroupsTest : public testing::Test {
 protected:
  SequenceSnapshot Running(SequenceId id, int64_t computed, int64_t tokens, int64_t windowed) {
    SequenceSnapshot sequence = Prefilling(id, computed, tokens, (computed + 3) / 4);
    sequence.held[1] = sequence.sole[1] = windowed;
    return sequence;
  }

  Scheduler scheduler_{{.max_rows = 10,
                        .max_prefill_rows = 8,
                        .max_sequences = 4,
                        .page_size = 4,
                        .groups = {{.page_count = 100}, {.window = 6, .page_count = 100}}}};
};

TEST_F(SchedulerGroupsTest, AdmitsByWhatAWindowHoldsAtItsLargest) {
  EXPECT_THAT(scheduler_.PlanStep({Waiting(1, 40)}, {10, 4}).admitted, ElementsAre(1));
  EXPECT_THAT(scheduler_.PlanStep({Waiting(1, 40)}, {10, 3}).admitted, IsEmpty());
  EXPECT_THAT(scheduler_.PlanStep({Waiting(1, 40)}, {9, 4}).admitted, IsEmpty());
}

TEST_F(SchedulerGroupsTest, CountsWhatARunningPromptWillStillHoldInEachGroup) {
  // The first holds 6 and 2 pages of 10 and 4; it takes 2 of each for 8 rows now, and 2 and 0
  // later.
  const SequenceSnapshot first = Running(1, 24, 40, 2);
  EXPECT_THAT(scheduler_.PlanStep({first, Waiting(2, 1)}, {6, 4}).admitted, ElementsAre(2));
  EXPECT_THAT(scheduler_.PlanStep({first, Waiting(2, 1)}, {5, 4}).admitted, IsEmpty());
  EXPECT_THAT(scheduler_.PlanStep({first, Waiting(2, 1)}, {6, 3}).admitted, IsEmpty());
}

TEST_F(SchedulerGroupsTest, ShortensAPromptToTheGroupWithTheFewestPages) {
  EXPECT_THAT(scheduler_.PlanStep({Running(1, 24, 40, 2)}, {10, 1}).slices,
              ElementsAre(PlannedSlice{1, 4}));
}

TEST_F(SchedulerGroupsTest, PreemptsForTheGroupThatRunsOut) {
  const StepPlan& plan =
      scheduler_.PlanStep({Running(1, 24, 25, 2), Running(2, 24, 25, 2)}, {10, 0});
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 1}));
}

TEST_F(SchedulerGroupsTest, AdmitsAloneWhatAPoolSmallerThanChunkAndWindowCanStillCompute) {
  Scheduler scheduler({.max_rows = 10,
                       .max_prefill_rows = 8,
                       .max_sequences = 4,
                       .page_size = 4,
                       .groups = {{.page_count = 100}, {.window = 6, .page_count = 3}}});
  const StepPlan& plan = scheduler.PlanStep({Waiting(1, 40)}, {100, 3});
  EXPECT_THAT(plan.admitted, ElementsAre(1));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 8}));
}

TEST(SchedulerTest, AdmitsNobodyInAStepThatPreempts) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan =
      scheduler.PlanStep({Decoding(1, 4, 1), Decoding(2, 15, 4), Waiting(3, 1)}, {0});
  EXPECT_THAT(plan.preempted, ElementsAre(2));
  EXPECT_THAT(plan.admitted, IsEmpty());
}

// A running sequence with guesses behind its last sampled token.
SequenceSnapshot Drafting(SequenceId id, int64_t computed, int64_t pages, int64_t draft_count) {
  SequenceSnapshot snapshot = Decoding(id, computed, pages);
  snapshot.draft_count = draft_count;
  return snapshot;
}

TEST(SchedulerTest, GivesDraftsTheRowsThatAreLeft) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(scheduler.PlanStep({Drafting(1, 5, 2, 4), Drafting(2, 5, 2, 9)}, {10}).slices,
              ElementsAre(PlannedSlice{1, 5}, PlannedSlice{2, 5}));
}

TEST(SchedulerTest, GivesPromptsTheirRowsBeforeDrafts) {
  Scheduler scheduler(kOptions);
  EXPECT_THAT(
      scheduler.PlanStep({Drafting(1, 5, 2, 4), Prefilling(2, 0, 20, 0), Waiting(3, 3)}, {20})
          .slices,
      ElementsAre(PlannedSlice{1, 2}, PlannedSlice{2, 8}));
}

TEST(SchedulerTest, DraftsTakeFreePagesOnly) {
  Scheduler scheduler(kOptions);
  // Two slots are left in each last page; there is one page for both.
  const StepPlan& plan =
      scheduler.PlanStep({Drafting(1, 6, 2, 4), Drafting(2, 6, 2, 4), Decoding(3, 6, 2)}, {1});
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 5}, PlannedSlice{2, 2}, PlannedSlice{3, 1}));
  EXPECT_THAT(plan.preempted, IsEmpty());
}

TEST(SchedulerTest, DraftsDoNotHoldUpAdmission) {
  Scheduler scheduler(kOptions);
  const StepPlan& plan = scheduler.PlanStep({Drafting(1, 7, 2, 4), Waiting(2, 4)}, {2});
  EXPECT_THAT(plan.admitted, ElementsAre(2));
  EXPECT_THAT(plan.slices, ElementsAre(PlannedSlice{1, 5}, PlannedSlice{2, 4}));
}

}  // namespace
}  // namespace phyllo
