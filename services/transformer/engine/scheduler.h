// Which rows the next step computes. Policy only: a function of a snapshot, without threads, clocks
// or tensors.
//   Scheduler scheduler(options);
//   const StepPlan& plan = scheduler.PlanStep(snapshots, allocator.free_count());
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULER_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace phyllo {

// Names a sequence within one engine; never reused.
using SequenceId = int64_t;

// What the scheduler knows of a sequence. 0 <= computed_count <= ready_count <= token_count;
// computed_count < token_count.
struct SequenceSnapshot {
  SequenceId id = 0;
  bool running = false;        // has a place in the batch; otherwise it waits (new, or preempted)
  int64_t computed_count = 0;  // tokens whose keys and values are in its pages
  int64_t ready_count = 0;     // tokens whose input rows are at hand
  int64_t token_count = 0;     // tokens to compute before the next one can be sampled
  int64_t page_count = 0;      // pages held
};

struct SchedulerOptions {
  int64_t max_rows = 256;          // rows of one step, >= max_sequences
  int64_t max_prefill_rows = 128;  // of those, rows of prompts, >= 1: bounds how long running
                                   // sequences wait for their next token
  int64_t max_sequences = 64;      // sequences with a place in the batch, >= 1
  int64_t page_size = 64;          // tokens of a KV page, >= 1
};

// Rows [computed_count, computed_count + row_count) of a sequence.
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
//  2. Then prompts, in order of service, within max_prefill_rows and max_rows; a long prompt takes
//  several steps.
//  3. Then waiting sequences get a place, in order of service without overtaking, if the pages of
//  all their tokens are free beyond what
//     running sequences will still take for theirs and one page of growth for each of those.
//  4. When pages run out, the sequence that is served last loses its pages and waits; who is last
//  himself stalls. The first in order of service
//     can always go on, provided every sequence alone fits in the cache: that is the caller's duty.
// Keeps only scratch between calls. Thread-compatible.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options) : options_(options) {}

  // `sequences` in order of service (the earliest arrival first, or by priority). The plan is valid
  // until the next call.
  const StepPlan& PlanStep(absl::Span<const SequenceSnapshot> sequences, int64_t free_page_count);

 private:
  struct Grant {
    int64_t row_count = 0;
    int64_t new_page_count = 0;
    bool running = false;
    bool preempted = false;
  };

  int64_t PagesFor(int64_t token_count) const {
    return (token_count + options_.page_size - 1) / options_.page_size;
  }
  // Gives sequence `index` up to `row_count` rows and the pages they need.
  void GrantRows(int64_t index, int64_t row_count);
  // Takes the pages of the running sequence served last, if it is served after `index`.
  bool PreemptAfter(int64_t index);
  void AdmitWaiting();

  const SchedulerOptions options_;
  StepPlan plan_;

  // Scratch of one call.
  absl::Span<const SequenceSnapshot> sequences_;
  std::vector<Grant> grants_;  // [sequences]
  int64_t free_page_count_ = 0;
  int64_t rows_left_ = 0;
  int64_t prefill_rows_left_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULER_H_
