// What a sequence keeps for speculative decoding.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SEQUENCE_DRAFT_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SEQUENCE_DRAFT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "services/transformer/engine/speculation/acceptance.h"
#include "services/transformer/engine/speculation/ngram_index.h"

namespace phyllo {

// The most tokens that are drafted for a sequence at once.
inline constexpr int64_t kMaxDraftTokens = 16;

// What a request says of speculation. Absent: as the server.
struct SpeculationRequest {
  std::optional<bool> enabled = std::nullopt;
  std::optional<int64_t> max_draft_tokens = std::nullopt;  // in [1, kMaxDraftTokens]
};

// The drafted tokens of the current step, and where they come from. Thread-compatible.
struct SequenceDraft {
  // The tokens [k] that are rows of this step behind the last sampled one: guesses. They are
  // accepted, from the first on, as far as the sampler draws the same.
  std::vector<int32_t> tokens;
  int64_t accepted_count = 0;  // of `tokens`
  bool ended = false;          // the sampler drew another token, or one behind the last of them

  // Keeps the first `count` of `tokens`, none of them accepted yet.
  void Begin(int64_t count) {
    tokens.resize(count);
    accepted_count = 0;
    ended = false;
  }
  // Whether `token_id`, drawn where tokens[accepted_count] stands, is that token.
  bool Accepts(int32_t token_id) const {
    return accepted_count < static_cast<int64_t>(tokens.size()) &&
           tokens[accepted_count] == token_id;
  }
  // The sampler has drawn `token_id` there.
  void Verify(int32_t token_id) {
    if (Accepts(token_id)) {
      ++accepted_count;
    } else {
      ended = true;
    }
  }
  // After the step: counts the draft, and returns how many of its tokens the sequence has not got:
  // the last rows of the step, whose keys and values are of no use.
  int64_t CountVerified() {
    const auto drafted_count = static_cast<int64_t>(tokens.size());
    total_drafted += drafted_count;
    total_accepted += accepted_count;
    return drafted_count - accepted_count;
  }

  // What was predicted when the sequence had predicted_at tokens, whether it became a draft or not:
  // it costs nothing to see what comes of it.
  std::vector<int32_t> prediction;
  int64_t predicted_at = 0;
  int64_t match_length = 0;  // that it was made from; 0: a draft model's
  NgramIndex index;
  Acceptance acceptance;

  // Over all steps.
  int64_t total_drafted = 0;
  int64_t total_accepted = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SEQUENCE_DRAFT_H_
