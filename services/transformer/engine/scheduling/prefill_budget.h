// How many prompt rows may join the sequences that decode.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PREFILL_BUDGET_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PREFILL_BUDGET_H_

#include <cstdint>

#include "absl/types/span.h"
#include "services/transformer/engine/scheduling/scheduler.h"
#include "services/transformer/engine/scheduling/step_cost.h"

namespace phyllo {

struct PrefillBudgetOptions {
  // A step with prompt rows may take at most so many times as long, >= 1, as one without them in
  // which those who wait for their prompts decode, too: what is usual under this load. (Measured
  // against the few that decode now, prompts would get so few rows that few ever decode.)
  double max_step_stretch = 2.5;
  int64_t max_sequences = 64;  // that may decode together, >= 1
  // But so many rows may always join, so that prompts get on; >= 1.
  int64_t min_rows = 16;
  // And never more than these, >= 1: all of them where nothing decodes.
  int64_t max_rows = 512;
};

// Thread-compatible.
class PrefillBudget {
 public:
  // Borrows the cost, which may change between calls; without one (null) it is always max_rows.
  PrefillBudget(const StepCost* cost, const PrefillBudgetOptions& options)
      : cost_(cost), options_(options) {}

  // The prompt rows of the next step, in [min(min_rows, max_rows), max_rows], for `sequences` in
  // order of service as for Scheduler::PlanStep. Rows of decoding sequences, their drafts and
  // prompt rows together are a multiple of 16 where the bounds leave room for it, which suits the
  // row blocks of the matrix products.
  int64_t RowsFor(absl::Span<const SequenceSnapshot> sequences) const;

 private:
  const StepCost* const cost_;
  const PrefillBudgetOptions options_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PREFILL_BUDGET_H_
