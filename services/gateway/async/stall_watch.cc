#include "services/gateway/async/stall_watch.h"

namespace phyllo {

StallWatch::StallWatch(absl::Duration limit) : limit_(limit) {
  thread_ = std::thread([this] { WatchForever(); });
}

StallWatch::~StallWatch() {
  {
    const absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

StallWatch::Guard::Guard(StallWatch& watch, grpc::CallbackServerContext& context)
    : watch_(watch), id_(watch.Add(context)) {}

StallWatch::Guard::~Guard() { watch_.Remove(id_); }

int64_t StallWatch::Add(grpc::CallbackServerContext& context) {
  const absl::MutexLock lock(&mutex_);
  writes_[next_id_] = {&context, Stopwatch()};
  return next_id_++;
}

void StallWatch::Remove(int64_t id) {
  const absl::MutexLock lock(&mutex_);
  writes_.erase(id);
}

void StallWatch::WatchForever() {
  const absl::MutexLock lock(&mutex_);
  while (!stop_) {
    // A write that begins now is looked at no later than half a limit after it is overdue.
    mutex_.AwaitWithTimeout(absl::Condition(&stop_), limit_ / 2);
    while (!writes_.empty() && writes_.begin()->second.since.Elapsed() >= limit_) {
      // Under the lock, so that the call cannot end meanwhile. TryCancel only marks the call; it
      // does not call back.
      writes_.begin()->second.context->TryCancel();
      writes_.erase(writes_.begin());
    }
  }
}

}  // namespace phyllo
