// The tokens a sequence has seen, counted for the penalties.
#ifndef PHYLLO_MODEL_SAMPLING_TOKEN_HISTORY_H_
#define PHYLLO_MODEL_SAMPLING_TOKEN_HISTORY_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"

namespace phyllo {

// Owns, per distinct token of one sequence, how often the output has it; prompt tokens count zero.
// Thread-compatible.
class TokenHistory {
 public:
  // Adds the tokens of the prompt [n]; ids >= 0.
  void AddPrompt(absl::Span<const int32_t> token_ids);

  // Adds one token of the output; id >= 0.
  void AddGenerated(int32_t token_id);

  // Output tokens so far, repetitions included.
  int64_t generated_count() const { return generated_count_; }

  // Occurrences in the output of every distinct token of prompt and output. The order is
  // unspecified: what is done for one token must not depend on another.
  const absl::flat_hash_map<int32_t, int32_t>& occurrences() const { return occurrences_; }

 private:
  absl::flat_hash_map<int32_t, int32_t> occurrences_;
  int64_t generated_count_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_TOKEN_HISTORY_H_
