// The tokens a sequence has seen, in order and counted for the penalties.
#ifndef PHYLLO_MODEL_SAMPLING_TOKEN_HISTORY_H_
#define PHYLLO_MODEL_SAMPLING_TOKEN_HISTORY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"

namespace phyllo {

// The id of a prompt token that is given as a vector and has none. It equals no token.
inline constexpr int32_t kNoTokenId = -1;

// Owns the tokens of one sequence, prompt and output, and how often each occurs among the latest of
// them. Thread-compatible.
class TokenHistory {
 public:
  struct Occurrences {
    int32_t in_prompt = 0;
    int32_t in_output = 0;
  };

  // Counts the `penalty_window` latest tokens, at least 1; absent: all.
  explicit TokenHistory(std::optional<int32_t> penalty_window = std::nullopt)
      : penalty_window_(penalty_window) {}

  // Adds the tokens of the prompt [n], before any of the output; ids >= 0, or kNoTokenId.
  void AddPrompt(absl::Span<const int32_t> token_ids);

  // Adds one token of the output; id >= 0.
  void AddGenerated(int32_t token_id);

  // Prompt, then output, [n]; may hold kNoTokenId.
  absl::Span<const int32_t> token_ids() const { return token_ids_; }

  // Output tokens so far, repetitions included.
  int64_t generated_count() const {
    return static_cast<int64_t>(token_ids_.size()) - prompt_count_;
  }

  // Of every distinct token in the window. The order is unspecified: what is done for one token
  // must not depend on another.
  const absl::flat_hash_map<int32_t, Occurrences>& occurrences() const { return occurrences_; }

 private:
  // The last of token_ids_ enters the window; the oldest leaves it if it is full.
  void MoveWindow();
  // `change` more occurrences of the token at `index`.
  void Count(int64_t index, int32_t change);

  const std::optional<int32_t> penalty_window_;
  std::vector<int32_t> token_ids_;
  int64_t prompt_count_ = 0;
  absl::flat_hash_map<int32_t, Occurrences> occurrences_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_TOKEN_HISTORY_H_
