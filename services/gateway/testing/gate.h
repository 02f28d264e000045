// Something for tasks to wait for, in tests.
#ifndef PHYLLO_SERVICES_GATEWAY_TESTING_GATE_H_
#define PHYLLO_SERVICES_GATEWAY_TESTING_GATE_H_

#include <coroutine>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace phyllo {

// `co_await gate.Pass();` waits until Open is called, in whose thread it goes on. Thread-safe.
class Gate {
 public:
  auto Pass() {
    struct Awaiter {
      Gate& gate;
      bool await_ready() noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> waiter) { return gate.WaitIfClosed(waiter); }
      void await_resume() noexcept {}
    };
    return Awaiter{*this};
  }

  void Open() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::coroutine_handle<>> waiters;
    {
      const absl::MutexLock lock(&mutex_);
      open_ = true;
      std::swap(waiters, waiters_);
    }
    for (const std::coroutine_handle<> waiter : waiters) waiter.resume();
  }

  int64_t waiter_count() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return static_cast<int64_t>(waiters_.size());
  }

 private:
  bool WaitIfClosed(std::coroutine_handle<> waiter) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (!open_) waiters_.push_back(waiter);
    return !open_;
  }

  mutable absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::coroutine_handle<>> waiters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_TESTING_GATE_H_
