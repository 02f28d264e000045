#include "services/transformer/engine/admission/waiting_bounds.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace phyllo {
namespace {

absl::Status QueueIsFull(absl::string_view limit, int64_t value) {
  return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", limit, " is ", value));
}

}  // namespace

absl::StatusOr<WaitingPermit> WaitingBounds::Enter(int64_t token_count) {
  absl::MutexLock lock(&mutex_);
  if (sequence_count_ >= max_sequences_) return QueueIsFull("max_queue_sequences", max_sequences_);
  if (sequence_count_ > 0 && token_count_ + token_count > max_tokens_)
    return QueueIsFull("max_queue_tokens", max_tokens_);
  ++sequence_count_;
  token_count_ += token_count;
  return WaitingPermit(this, token_count);
}

void WaitingBounds::Leave(int64_t token_count) {
  absl::MutexLock lock(&mutex_);
  --sequence_count_;
  token_count_ -= token_count;
}

}  // namespace phyllo
