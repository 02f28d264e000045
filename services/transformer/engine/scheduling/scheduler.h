// Which rows the next step computes. Policy only: a function of a snapshot, without threads, clocks
// or tensors.
//   Scheduler scheduler(options);
//   const StepPlan& plan = scheduler.PlanStep(snapshots, free_page_counts, prefill_rows);
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_SCHEDULER_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_SCHEDULER_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "services/transformer/engine/scheduling/page_counts.h"

namespace phyllo {

// Names a sequence within one engine; never reused.
using SequenceId = int64_t;

// What the scheduler knows of a sequence. 0 <= computed_count <= ready_count <= token_count;
// computed_count < token_count.
struct SequenceSnapshot {
  SequenceId id = 0;
  bool running = false;        // has a place in the batch; otherwise it waits (new, or preempted)
  bool generates = true;       // decodes behind its prompt; false: what it wants comes from that
  int64_t computed_count = 0;  // tokens whose keys and values are in its pages, or in pages that it
                               // finds in the prefix cache when it is admitted
  int64_t ready_count = 0;     // tokens whose input rows are at hand
  int64_t token_count = 0;     // tokens to compute before the next one can be sampled
  int64_t draft_count = 0;     // guesses behind them; only if token_count - computed_count is 1
  int64_t page_count = 0;      // length of its page tables, pages that were given back included
  PageCounts held =
      {};  // pages of each group that it holds, or will hold as soon as it is admitted
  // Of them, those that are free again when it loses them, which is only read if MayPreempt; of a
  // sequence that waits, those that are taken from the free ones when it is admitted.
  PageCounts sole = {};
};

// What the scheduler knows of a group of layers.
struct SchedulerGroup {
  std::optional<int64_t> window = std::nullopt;  // of the layers; absent = they read all pages
  int64_t page_count = 0;                        // of the pool
};

struct SchedulerOptions {
  int64_t max_rows = 256;                   // rows of one step, >= max_sequences
  int64_t max_prefill_rows = 128;           // of those, most rows of prompts in any step, >= 1
  int64_t max_sequences = 64;               // sequences with a place in the batch, >= 1
  int64_t page_size = 64;                   // tokens of a KV page, >= 1
  std::vector<SchedulerGroup> groups = {};  // at least one
};

// Rows [computed_count, computed_count + row_count) of a sequence; those from token_count on are of
// its draft.
struct PlannedSlice {
  SequenceId id = 0;
  int64_t row_count = 0;
};

// Carried out in this order: give back the pages of `preempted`, give `admitted` a place, compute
// `slices`.
struct StepPlan {
  std::vector<SequenceId> preempted;  // recomputed from their tokens later
  std::vector<SequenceId> admitted;
  std::vector<PlannedSlice> slices;  // at most one of a sequence
};

// Rules, in this order:
//  1. Decode first: every running sequence that lacks one row gets it.
//  2. Then prompts, in order of service, within the step's budget of prompt rows and max_rows; a
//  long prompt takes several steps.
//  3. Then waiting sequences get a place, in order of service without overtaking, if in every group
//     the pages that they will hold at their largest are free beyond what running sequences will
//     still take for theirs and one page of growth for each of those.
//  4. Last the drafts of running sequences, in order of service, as far as rows and pages are left:
//  a draft takes nothing from anybody.
//  5. When pages run out in a group, the sequence that is served last loses its pages and waits;
//  who
//     is last himself stalls. The first in order of service can always go on, provided every
//     sequence alone fits in the cache: that is the caller's duty.
// Before a sequence's rows are computed it gives back the pages that its windows have left; a step
// thus adds as many pages in every group as the page tables get longer.
// Keeps only scratch between calls. Thread-compatible.
class Scheduler {
 public:
  explicit Scheduler(SchedulerOptions options) : options_(std::move(options)) {}

  // Whether so few pages are free that a sequence could lose its own in the next step.
  bool MayPreempt(int64_t sequence_count, const PageCounts& free_page_counts) const;

  // `sequences` in order of service (the earliest arrival first, or by priority). `prefill_rows`
  // bounds the rows of prompts, and with them how long running sequences wait for their next token;
  // absent, or where it is more: max_prefill_rows. The plan is valid until the next call.
  const StepPlan& PlanStep(absl::Span<const SequenceSnapshot> sequences,
                           const PageCounts& free_page_counts,
                           std::optional<int64_t> prefill_rows = std::nullopt);

 private:
  struct Grant {
    int64_t row_count = 0;
    int64_t new_page_count = 0;  // in each group
    bool running = false;
    bool preempted = false;
  };

  int64_t PagesFor(int64_t token_count) const {
    return (token_count + options_.page_size - 1) / options_.page_size;
  }
  int64_t group_count() const { return static_cast<int64_t>(options_.groups.size()); }
  // Of the group with the fewest.
  int64_t LeastOf(const PageCounts& page_counts) const;
  int64_t LeastFreePageCount() const { return LeastOf(free_page_counts_); }
  // Pages of the group that the sequence will still take until all its tokens are computed.
  int64_t PagesToCome(int64_t index, int64_t group) const;
  // Whether a waiting sequence can take its pages without touching what `promised` others will
  // take.
  bool Fits(int64_t index, const PageCounts& promised, int64_t growth) const;
  // Gives sequence `index` up to `row_count` rows and the pages they need.
  void GrantRows(int64_t index, int64_t row_count);
  // Takes the pages of the running sequence served last, if it is served after `index`.
  bool PreemptAfter(int64_t index);
  void AdmitWaiting();
  // Gives sequence `index`, which decodes in this step, rows for its draft.
  void GrantDraft(int64_t index);

  const SchedulerOptions options_;
  StepPlan plan_;

  // Scratch of one call.
  absl::Span<const SequenceSnapshot> sequences_;
  std::vector<Grant> grants_;  // [sequences]
  PageCounts free_page_counts_ = {};
  int64_t rows_left_ = 0;
  int64_t prefill_rows_left_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_SCHEDULER_H_
