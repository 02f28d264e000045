#include "model/sampling/token_history.h"

namespace phyllo {

void TokenHistory::AddPrompt(absl::Span<const int32_t> token_ids) {
  prompt_count_ += static_cast<int64_t>(token_ids.size());
  for (const int32_t token_id : token_ids) {
    token_ids_.push_back(token_id);
    MoveWindow();
  }
}

void TokenHistory::AddGenerated(int32_t token_id) {
  token_ids_.push_back(token_id);
  MoveWindow();
}

void TokenHistory::MoveWindow() {
  const auto size = static_cast<int64_t>(token_ids_.size());
  Count(size - 1, 1);
  if (penalty_window_ && size > *penalty_window_) Count(size - 1 - *penalty_window_, -1);
}

void TokenHistory::Count(int64_t index, int32_t change) {
  const int32_t token_id = token_ids_[index];
  if (token_id == kNoTokenId) return;
  Occurrences& occurrences = occurrences_[token_id];
  (index < prompt_count_ ? occurrences.in_prompt : occurrences.in_output) += change;
  if (occurrences.in_prompt == 0 && occurrences.in_output == 0) occurrences_.erase(token_id);
}

}  // namespace phyllo
