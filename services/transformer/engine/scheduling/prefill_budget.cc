#include "services/transformer/engine/scheduling/prefill_budget.h"

#include <algorithm>
#include <cstdint>

namespace phyllo {
namespace {

bool Decodes(const SequenceSnapshot& sequence) {
  return sequence.running && sequence.token_count - sequence.computed_count == 1;
}

void AddDecodeRows(int64_t first_position, int64_t rows, StepShape& shape) {
  shape.row_count += rows;
  shape.logits_row_count += rows;
  shape.decode_key_count += KeysRead(first_position, rows);
}

// What the next step computes before prompts are added: rows of the sequences that decode, and of
// their drafts.
StepShape DecodeShape(absl::Span<const SequenceSnapshot> sequences) {
  StepShape shape;
  for (const SequenceSnapshot& sequence : sequences) {
    if (Decodes(sequence)) AddDecodeRows(sequence.computed_count, 1 + sequence.draft_count, shape);
  }
  return shape;
}

// The same step when those of the first max_sequences that wait for their prompts decode, too.
StepShape WithWaiting(StepShape shape, absl::Span<const SequenceSnapshot> sequences,
                      int64_t max_sequences) {
  int64_t generating_count = 0;
  for (const SequenceSnapshot& sequence : sequences) {
    if (!sequence.generates) continue;
    if (++generating_count > max_sequences) break;
    if (!Decodes(sequence)) AddDecodeRows(sequence.token_count - 1, 1, shape);
  }
  return shape;
}

// The same step with rows of a prompt from first_position on.
StepShape WithPrompt(StepShape shape, int64_t first_position, int64_t rows) {
  shape.row_count += rows;
  shape.prompt_key_count += KeysRead(first_position, rows);
  return shape;
}

// Where the prompt that is served first goes on.
int64_t PromptPosition(absl::Span<const SequenceSnapshot> sequences) {
  const auto prompt = std::find_if_not(sequences.begin(), sequences.end(), Decodes);
  return prompt == sequences.end() ? 0 : prompt->computed_count;
}

}  // namespace

int64_t PrefillBudget::RowsFor(absl::Span<const SequenceSnapshot> sequences) const {
  constexpr int64_t kGranule = 16;
  if (cost_ == nullptr) return options_.max_rows;
  const StepShape decode = DecodeShape(sequences);
  if (decode.row_count == 0) return options_.max_rows;
  const double bound = options_.max_step_stretch *
                       cost_->Seconds(WithWaiting(decode, sequences, options_.max_sequences));
  const int64_t position = PromptPosition(sequences);
  const auto fits = [&](int64_t rows) {
    return cost_->Seconds(WithPrompt(decode, position, rows)) <= bound;
  };
  if (fits(options_.max_rows)) return options_.max_rows;
  // The cost grows with the rows: bisect to the last count that fits.
  const int64_t least = std::min(options_.min_rows, options_.max_rows);
  int64_t most = least;
  for (int64_t too_many = options_.max_rows; most + 1 < too_many;) {
    const int64_t middle = most + (too_many - most) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  const int64_t excess = (decode.row_count + most) % kGranule;
  return most - excess >= least ? most - excess : most;
}

}  // namespace phyllo
