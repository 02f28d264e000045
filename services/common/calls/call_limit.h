// A bound on the calls of a service that are under way.
//   CallLimit limit(512);
//   absl::StatusOr<CallPermit> permit = limit.Admit();  // to be kept for as long as the call lasts
#ifndef PHYLLO_SERVICES_COMMON_CALLS_CALL_LIMIT_H_
#define PHYLLO_SERVICES_COMMON_CALLS_CALL_LIMIT_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

namespace phyllo {

class CallPermit;

// For calls of gRPC's callback API: they hold no thread, so --max_handler_threads does not bound
// them by itself. Outlives its permits. Thread-safe.
class CallLimit {
 public:
  explicit CallLimit(int64_t max_calls) : max_calls_(max_calls) {}
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // RESOURCE_EXHAUSTED with RetryInfo and the limit if as many calls are under way.
  absl::StatusOr<CallPermit> Admit();

 private:
  friend class CallPermit;
  void Release() { call_count_.fetch_sub(1, std::memory_order_relaxed); }

  const int64_t max_calls_;
  std::atomic<int64_t> call_count_ = 0;
};

// The place of one call; gives it back when it dies. Movable. Thread-compatible.
class CallPermit {
 public:
  CallPermit(CallPermit&& other) noexcept : limit_(std::exchange(other.limit_, nullptr)) {}
  CallPermit& operator=(CallPermit&&) = delete;
  ~CallPermit() {
    if (limit_ != nullptr) limit_->Release();
  }

 private:
  friend class CallLimit;
  explicit CallPermit(CallLimit& limit) : limit_(&limit) {}

  CallLimit* limit_;  // null: moved from, holds nothing
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_CALLS_CALL_LIMIT_H_
