#include "services/transformer/engine/scheduling/prefill_budget.h"

#include <algorithm>
#include <cstdint>

namespace phyllo {
namespace {

// What the next step computes before prompts are added, and where the prompt served first stands.
struct DecodeLoad {
  StepShape shape = {};         // of the running sequences that lack one row, and of their drafts
  StepShape later_shape = {};   // the same when those whose prompts are read now decode, too
  int64_t prompt_position = 0;  // of the next row of the first prompt
};

void AddDecodeRows(int64_t first_position, int64_t rows, StepShape& shape) {
  shape.row_count += rows;
  shape.logits_row_count += rows;
  shape.decode_key_count += KeysRead(first_position, rows);
}

DecodeLoad DecodeLoadOf(absl::Span<const SequenceSnapshot> sequences, int64_t max_sequences) {
  DecodeLoad load;
  int64_t generating_count = 0;
  bool has_prompt = false;
  for (const SequenceSnapshot& sequence : sequences) {
    const bool counts_later = sequence.generates && ++generating_count <= max_sequences;
    if (sequence.running && sequence.token_count - sequence.computed_count == 1) {
      AddDecodeRows(sequence.computed_count, 1 + sequence.draft_count, load.shape);
      AddDecodeRows(sequence.computed_count, 1 + sequence.draft_count, load.later_shape);
      continue;
    }
    if (counts_later) AddDecodeRows(sequence.token_count - 1, 1, load.later_shape);
    if (!has_prompt) {
      has_prompt = true;
      load.prompt_position = sequence.computed_count;
    }
  }
  return load;
}

double SecondsWith(const StepCost& cost, const DecodeLoad& load, int64_t prompt_rows) {
  StepShape shape = load.shape;
  shape.row_count += prompt_rows;
  shape.prompt_key_count += KeysRead(load.prompt_position, prompt_rows);
  return cost.Seconds(shape);
}

}  // namespace

int64_t PrefillBudget::RowsFor(absl::Span<const SequenceSnapshot> sequences) const {
  constexpr int64_t kGranule = 16;
  if (cost_ == nullptr) return options_.max_rows;
  const DecodeLoad load = DecodeLoadOf(sequences, options_.max_sequences);
  if (load.shape.row_count == 0) return options_.max_rows;
  const double bound = options_.max_step_stretch * cost_->Seconds(load.later_shape);
  const auto fits = [&](int64_t rows) { return SecondsWith(*cost_, load, rows) <= bound; };
  if (fits(options_.max_rows)) return options_.max_rows;
  // The cost grows with the rows: bisect to the last count that fits.
  const int64_t least = std::min(options_.min_rows, options_.max_rows);
  int64_t most = least;
  for (int64_t too_many = options_.max_rows; most + 1 < too_many;) {
    const int64_t middle = most + (too_many - most) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  const int64_t excess = (load.shape.row_count + most) % kGranule;
  return most - excess >= least ? most - excess : most;
}

}  // namespace phyllo
