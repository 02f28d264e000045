// Calls that end by themselves.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_OPEN_CALLS_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_OPEN_CALLS_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace phyllo {

// Counts the calls on channels that have the same owner, and keeps these alive until the last has
// ended: gRPC must not lose a channel before that, and a call that was broken off ends later than
// who made it. Thread-safe. Outlives its places.
class OpenCalls {
 public:
  OpenCalls() = default;
  // Waits for the end of all calls. Not in one of gRPC's callbacks.
  ~OpenCalls() {
    const absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return count_ == 0; };
    mutex_.Await(absl::Condition(&none));
  }
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;

  // Stands for one call until it dies.
  class Place {
   public:
    explicit Place(OpenCalls& calls) : calls_(calls) { calls_.Add(1); }
    ~Place() { calls_.Add(-1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    OpenCalls& calls_;
  };

 private:
  void Add(int64_t count) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    count_ += count;
  }

  absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_OPEN_CALLS_H_
