// A lock that may be held while a task waits.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_ASYNC_MUTEX_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_ASYNC_MUTEX_H_

#include <coroutine>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace phyllo {

// Tasks hold it one after the other, in the order they asked. Thread-safe.
class AsyncMutex {
 public:
  AsyncMutex() = default;
  AsyncMutex(const AsyncMutex&) = delete;
  AsyncMutex& operator=(const AsyncMutex&) = delete;

  // Holds the mutex until it dies.
  class [[nodiscard]] Holder {
   public:
    explicit Holder(AsyncMutex& mutex) : mutex_(&mutex) {}
    Holder(Holder&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Holder& operator=(Holder&&) = delete;
    ~Holder() {
      if (mutex_ != nullptr) mutex_->Release();
    }

   private:
    AsyncMutex* mutex_;
  };

  // `const AsyncMutex::Holder holder = co_await mutex.Acquire();`
  auto Acquire() {
    struct Awaiter {
      AsyncMutex& mutex;
      bool await_ready() noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> waiter) { return mutex.WaitIfHeld(waiter); }
      Holder await_resume() noexcept { return Holder(mutex); }
    };
    return Awaiter{*this};
  }

 private:
  bool WaitIfHeld(std::coroutine_handle<> waiter) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (!std::exchange(held_, true)) return false;
    waiters_.push_back(waiter);
    return true;
  }

  // Hands it on to who has waited longest, who goes on here.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::coroutine_handle<> next;
    {
      const absl::MutexLock lock(&mutex_);
      if (waiters_.empty()) {
        held_ = false;
        return;
      }
      next = waiters_.front();
      waiters_.pop_front();
    }
    next.resume();
  }

  absl::Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::coroutine_handle<>> waiters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_ASYNC_MUTEX_H_
