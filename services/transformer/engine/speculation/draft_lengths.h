// How many tokens of every prediction are worth their rows. Policy only.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFT_LENGTHS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFT_LENGTHS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace phyllo {

// One drafted token: the probability that it and all before it of its sequence are accepted.
struct DraftChance {
  double probability = 0.0;  // does not grow from one token of a sequence to the next
  int64_t sequence = 0;      // the caller's number
};

// A step of r rows brings r tokens (sampled ones, or tokens of prompts that are computed) in the
// time step_cost(r), > 0 in any unit. Drafts add rows and as many tokens as are expected to be
// accepted. Reorders `chances`, the likeliest first, and returns how many of them, at most
// max_rows, make the most tokens a time; 0 unless that is at least a fiftieth more than without.
// Those of a sequence are then its first ones. Requires row_count >= 1.
int64_t ChooseDrafts(int64_t row_count, int64_t max_rows,
                     absl::FunctionRef<double(int64_t rows)> step_cost,
                     std::vector<DraftChance>& chances);

// What a draft model may be asked for a sequence.
struct DraftRun {
  double acceptance = 0.0;  // of a token, if those before it are accepted
  int64_t max_count = 0;    // tokens
};

// Every round of a draft model adds a token to the drafts of all sequences, as long as they may get
// longer, and takes `seconds_per_round`, in the unit of step_cost. Returns how many rounds make the
// most tokens a time; 0 unless that is at least a fiftieth more than without. Requires row_count
// >= 1.
int64_t ChooseDraftRounds(int64_t row_count, absl::Span<const DraftRun> runs,
                          double seconds_per_round,
                          absl::FunctionRef<double(int64_t rows)> step_cost);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFT_LENGTHS_H_
