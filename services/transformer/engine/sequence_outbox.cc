#include "services/transformer/engine/sequence_outbox.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {

SequenceOutbox::SequenceOutbox(int64_t max_unread_entries, NewsCallback on_news,
                               MemoryReservation memory)
    : max_unread_entries_(max_unread_entries),
      on_news_(std::move(on_news)),
      memory_(std::move(memory)) {}

absl::Status SequenceOutbox::AddToken(int64_t index, SampledToken token,
                                      const SequenceCounts& counts) {
  absl::MutexLock lock(&mutex_);
  PHYLLO_RETURN_IF_ERROR(Reserve(token, kSequenceTokenBytes));
  if (news_.tokens.empty()) news_.first_token_index = index;
  news_.tokens.push_back(std::move(token));
  news_.counts = counts;
  return absl::OkStatus();
}

absl::Status SequenceOutbox::AddScoredToken(int64_t index, SampledToken token) {
  absl::MutexLock lock(&mutex_);
  PHYLLO_RETURN_IF_ERROR(Reserve(token, /*kept_bytes=*/0));
  if (news_.scored_tokens.empty()) news_.first_scored_index = index;
  news_.scored_tokens.push_back(std::move(token));
  return absl::OkStatus();
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
  NewsUrgency urgency = NewsUrgency::kNow;
  {
    absl::MutexLock lock(&mutex_);
    if (news_.empty()) return;
    if (news_.can_wait()) urgency = NewsUrgency::kCanWait;
    if (told_ && *told_ >= urgency) return;
    told_ = urgency;
  }
  on_news_(urgency);
}

SequenceNews SequenceOutbox::Take() {
  absl::MutexLock lock(&mutex_);
  told_.reset();
  unread_entries_ = 0;
  news_.memory = memory_.Split(std::exchange(unread_bytes_, 0));
  return std::exchange(news_, SequenceNews{});
}

absl::Status SequenceOutbox::Reserve(const SampledToken& token, int64_t kept_bytes) {
  const auto logprob_count = static_cast<int64_t>(token.top_logprobs.size());
  if (unread_entries_ + 1 + logprob_count > max_unread_entries_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the reader is too slow: max_unread_entries is ", max_unread_entries_));
  }
  const int64_t bytes = kUnreadTokenBytes + logprob_count * kUnreadLogprobBytes;
  PHYLLO_RETURN_IF_ERROR(memory_.Grow(bytes + kept_bytes));
  unread_entries_ += 1 + logprob_count;
  unread_bytes_ += bytes;
  return absl::OkStatus();
}

}  // namespace phyllo
