// How much work the gateway takes in.
#ifndef PHYLLO_SERVICES_GATEWAY_REQUESTS_ADMISSION_H_
#define PHYLLO_SERVICES_GATEWAY_REQUESTS_ADMISSION_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace phyllo {

struct AdmissionLimits {
  int64_t max_requests = 256;    // Under way at once.
  int64_t max_tokens = 1 << 20;  // Of prompts and answers of all requests under way.
  int64_t max_request_bytes = int64_t{256} << 20;  // Of their messages and of answers held back.
};

class AdmissionPermit;

// Counts requests, their tokens and their bytes under way and refuses what would exceed the
// limits; nothing waits here, the queue is the transformer's. Thread-safe. Outlives its permits.
class Admission {
 public:
  explicit Admission(const AdmissionLimits& limits) : limits_(limits) {}

  // RESOURCE_EXHAUSTED with RetryInfo and the limit if too many requests are under way.
  absl::StatusOr<AdmissionPermit> AdmitRequest() ABSL_LOCKS_EXCLUDED(mutex_);

  // For a call that only asks the tokenizer: it counts its bytes, and is no request.
  AdmissionPermit AdmitLookup();

  int64_t request_count() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t token_count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class AdmissionPermit;
  absl::Status AddTokens(int64_t token_count) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AddRequestBytes(int64_t byte_count) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AddRequests(int64_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  // What a permit holds.
  struct Held {
    int64_t requests = 0;
    int64_t tokens = 0;
    int64_t request_bytes = 0;
  };
  void Release(const Held& held) ABSL_LOCKS_EXCLUDED(mutex_);

  const AdmissionLimits limits_;
  mutable absl::Mutex mutex_;
  int64_t requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t tokens_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t request_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The place of one request; gives it back when it dies. Thread-compatible.
class AdmissionPermit {
 public:
  AdmissionPermit(AdmissionPermit&& other) noexcept
      : admission_(std::exchange(other.admission_, nullptr)), held_(other.held_) {}
  AdmissionPermit& operator=(AdmissionPermit&&) = delete;
  ~AdmissionPermit();

  // Once the prompt is tokenized: `token_count` tokens of prompt and answer. RESOURCE_EXHAUSTED as
  // above if they do not fit, and nothing is taken.
  absl::Status AddTokens(int64_t token_count);
  // Bytes of the message that the request came with, or that its answer may take.
  // RESOURCE_EXHAUSTED likewise, without RetryInfo if there are more than the limit.
  absl::Status AddRequestBytes(int64_t byte_count);

  // That the request is answered several times: `count` >= 0 more, each of which counts as a
  // request. RESOURCE_EXHAUSTED likewise.
  absl::Status AddRequests(int64_t count);

 private:
  friend class Admission;
  AdmissionPermit(Admission& admission, int64_t request_count) : admission_(&admission) {
    held_.requests = request_count;
  }

  Admission* admission_;  // null: moved from, holds nothing
  Admission::Held held_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_REQUESTS_ADMISSION_H_
