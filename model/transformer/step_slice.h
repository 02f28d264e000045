// The unit that a scheduler hands to Transformer::Forward.
#ifndef PHYLLO_MODEL_TRANSFORMER_STEP_SLICE_H_
#define PHYLLO_MODEL_TRANSFORMER_STEP_SLICE_H_

#include <cstdint>

#include "model/kv_cache/sequence_pages.h"

namespace phyllo {

// The rows of one sequence in a step: consecutive positions of it.
struct StepSlice {
  int64_t row_begin = 0;  // rows [row_begin, row_begin + row_count) of hidden_states
  int64_t row_count = 0;  // >= 1; 1 in decode, a chunk of the prompt in prefill
  int64_t first_position =
      0;  // of row_begin: the number of tokens of the sequence already in the cache
  // Tokens of the whole prompt, those not yet computed included, or the length a sequence had when
  // it was computed anew (recompute_length.h). Only RoPE types dynamic and longrope look at it:
  // there the rotation of a position depends on this length, however the rows are cut into chunks
  // (rope.h).
  int64_t prompt_length = 0;  // >= 1
  // Not null; with room for first_position + row_count tokens. Pages that no query from
  // first_position on reads may have been given back (SequencePages::ReleaseBefore).
  const SequencePages* pages = nullptr;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_STEP_SLICE_H_
