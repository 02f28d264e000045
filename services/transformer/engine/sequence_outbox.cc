#include "services/transformer/engine/sequence_outbox.h"

#include <cstdint>
#include <utility>

namespace phyllo {

SequenceOutbox::SequenceOutbox(int64_t max_unread_entries, std::function<void()> on_news)
    : max_unread_entries_(max_unread_entries), on_news_(std::move(on_news)) {}

bool SequenceOutbox::AddToken(int64_t index, SampledToken token) {
  absl::MutexLock lock(&mutex_);
  if (!Reserve(token)) return false;
  if (news_.tokens.empty()) news_.first_token_index = index;
  news_.tokens.push_back(std::move(token));
  return true;
}

bool SequenceOutbox::AddScoredToken(int64_t index, SampledToken token) {
  absl::MutexLock lock(&mutex_);
  if (!Reserve(token)) return false;
  if (news_.scored_tokens.empty()) news_.first_scored_index = index;
  news_.scored_tokens.push_back(std::move(token));
  return true;
}

void SequenceOutbox::AddNeed(RowRange need) {
  absl::MutexLock lock(&mutex_);
  news_.needs.push_back(need);
}

void SequenceOutbox::SetPrefillProgress(PrefillProgress progress) {
  absl::MutexLock lock(&mutex_);
  news_.prefill_progress = progress;
}

void SequenceOutbox::SetPrefilled(SequenceResult so_far) {
  absl::MutexLock lock(&mutex_);
  news_.prefilled = std::move(so_far);
}

void SequenceOutbox::Finish(SequenceResult result) {
  absl::MutexLock lock(&mutex_);
  news_.result = std::move(result);
}

void SequenceOutbox::Flush() {
  {
    absl::MutexLock lock(&mutex_);
    if (told_ || news_.empty()) return;
    told_ = true;
  }
  on_news_();
}

SequenceNews SequenceOutbox::Take() {
  absl::MutexLock lock(&mutex_);
  told_ = false;
  unread_entries_ = 0;
  return std::exchange(news_, SequenceNews{});
}

bool SequenceOutbox::Reserve(const SampledToken& token) {
  const int64_t entries = 1 + static_cast<int64_t>(token.top_logprobs.size());
  if (unread_entries_ + entries > max_unread_entries_) return false;
  unread_entries_ += entries;
  return true;
}

}  // namespace phyllo
