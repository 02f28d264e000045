// Ends calls whose client has stopped reading.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_STALL_WATCH_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_STALL_WATCH_H_

#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "services/common/stopwatch.h"

namespace phyllo {

// A write to a client does not end while the client's flow-control window is full. This object's
// one thread cancels calls whose write has been under way for longer than the limit; the write then
// fails. Thread-safe. Outlives its guards.
class StallWatch {
 public:
  explicit StallWatch(absl::Duration limit);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Stands for one write under way.
  class Guard {
   public:
    Guard(StallWatch& watch, grpc::CallbackServerContext& context);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    StallWatch& watch_;
    const int64_t id_;
  };

 private:
  struct Write {
    grpc::CallbackServerContext* context;
    Stopwatch since;
  };

  int64_t Add(grpc::CallbackServerContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void WatchForever() ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration limit_;
  absl::Mutex mutex_;
  // By id, which grows: the first has waited longest.
  std::map<int64_t, Write> writes_ ABSL_GUARDED_BY(mutex_);
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_STALL_WATCH_H_
