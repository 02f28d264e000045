// Coroutines: work that is written as one path from top to bottom and holds no thread while it
// waits.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_TASK_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_TASK_H_

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "model/base/status_macros.h"

namespace phyllo {

template <typename T>
class Task;

namespace internal {

// Begins when it is awaited. Whichever comes second, its end or the return of its first part to who
// awaits it, lets that go on: so a loop over tasks that do not wait takes no stack, whatever the
// compiler makes of a transfer from one coroutine to another. Nothing of ours throws.
class TaskPromiseBase {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept { return FinalAwaiter(); }
  void unhandled_exception() noexcept { std::terminate(); }

  void set_waiter(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  // Called by the waiter and by the end of the task: true for who comes second, and goes on.
  bool MeetAsSecond() noexcept { return met_.exchange(true, std::memory_order_acq_rel); }

 private:
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> task) noexcept {
      return task.promise().MeetAsSecond() ? task.promise().waiter_ : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };

  std::coroutine_handle<> waiter_;
  std::atomic<bool> met_{false};
};

template <typename T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& value) {
    result_.emplace(std::forward<U>(value));
  }
  T TakeResult() { return *std::move(result_); }

 private:
  std::optional<T> result_;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() {}
  void TakeResult() {}
};

}  // namespace internal

// A coroutine that has not begun yet, and its result. `co_await` begins it; it goes on in whatever
// thread what it waits for ends in, and so does who awaits it. It is gone, with all it holds, when
// the expression that awaited it ends. Awaited once.
//
// A parameter that is a reference is borrowed until the task has ended. A lambda that is a
// coroutine borrows its own captures likewise: give it a name.
template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  auto operator co_await() && noexcept { return Awaiter(std::move(*this)); }

 private:
  friend promise_type;
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  class Awaiter {
   public:
    explicit Awaiter(Task task) : task_(std::move(task)) {}
    bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
      task_.coroutine_.promise().set_waiter(waiter);
      task_.coroutine_.resume();
      return !task_.coroutine_.promise().MeetAsSecond();
    }
    T await_resume() { return task_.coroutine_.promise().TakeResult(); }

   private:
    Task task_;
  };

  std::coroutine_handle<promise_type> coroutine_;
};

namespace internal {

template <typename T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

// A coroutine that nobody awaits.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

inline Detached RunDetached(Task<void> task) { co_await std::move(task); }

}  // namespace internal

// Begins `task`, which ends by itself. Returns when it waits for the first time.
inline void Spawn(Task<void> task) { internal::RunDetached(std::move(task)); }

}  // namespace phyllo

// As PHYLLO_RETURN_IF_ERROR and PHYLLO_ASSIGN_OR_RETURN, in a task.
#define PHYLLO_CO_RETURN_IF_ERROR(expression)           \
  do {                                                  \
    absl::Status phyllo_status_ = (expression);         \
    if (!phyllo_status_.ok()) co_return phyllo_status_; \
  } while (false)

#define PHYLLO_CO_ASSIGN_OR_RETURN(declaration, expression)                                      \
  PHYLLO_CO_ASSIGN_OR_RETURN_IMPL(PHYLLO_MACRO_CONCAT(phyllo_status_or_, __LINE__), declaration, \
                                  expression)

#define PHYLLO_CO_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                            \
  if (!result.ok()) co_return std::move(result).status();                \
  declaration = *std::move(result)

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_TASK_H_
