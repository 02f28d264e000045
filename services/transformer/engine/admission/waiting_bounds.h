// How much may wait for a place in the batch.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_ADMISSION_WAITING_BOUNDS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_ADMISSION_WAITING_BOUNDS_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace phyllo {

class WaitingPermit;

// Counts sequences that wait, and their tokens. Outlives its permits. Thread-safe.
class WaitingBounds {
 public:
  WaitingBounds(int64_t max_sequences, int64_t max_tokens)
      : max_sequences_(max_sequences), max_tokens_(max_tokens) {}

  // A permit for a sequence of `token_count` tokens; RESOURCE_EXHAUSTED naming the limit that it
  // would exceed. A sequence longer than all that may wait may wait alone: otherwise it could never
  // be served.
  absl::StatusOr<WaitingPermit> Enter(int64_t token_count) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class WaitingPermit;
  void Leave(int64_t token_count) ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t max_sequences_;
  const int64_t max_tokens_;
  absl::Mutex mutex_;
  int64_t sequence_count_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t token_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The place of one sequence; gives itself back. Movable. Thread-compatible.
class WaitingPermit {
 public:
  WaitingPermit() = default;
  WaitingPermit(WaitingPermit&& other) noexcept
      : bounds_(std::exchange(other.bounds_, nullptr)), token_count_(other.token_count_) {}
  WaitingPermit& operator=(WaitingPermit&& other) noexcept {
    GiveBack();
    bounds_ = std::exchange(other.bounds_, nullptr);
    token_count_ = other.token_count_;
    return *this;
  }
  ~WaitingPermit() { GiveBack(); }

  // The sequence waits no longer. Nothing if it has not.
  void GiveBack() {
    if (bounds_ != nullptr) std::exchange(bounds_, nullptr)->Leave(token_count_);
  }

 private:
  friend class WaitingBounds;
  WaitingPermit(WaitingBounds* bounds, int64_t token_count)
      : bounds_(bounds), token_count_(token_count) {}

  WaitingBounds* bounds_ = nullptr;
  int64_t token_count_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_ADMISSION_WAITING_BOUNDS_H_
