#include "model/sampling/token_history.h"

namespace phyllo {

void TokenHistory::AddPrompt(absl::Span<const int32_t> token_ids) {
  for (const int32_t token_id : token_ids) occurrences_.try_emplace(token_id, 0);
}

void TokenHistory::AddGenerated(int32_t token_id) {
  ++occurrences_[token_id];
  ++generated_count_;
}

}  // namespace phyllo
