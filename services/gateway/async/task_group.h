// Tasks side by side.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_TASK_GROUP_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_TASK_GROUP_H_

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <utility>

#include "services/gateway/async/task.h"

namespace phyllo {

// Runs tasks and waits for the end of all. Start may be called by the tasks themselves; the group
// outlives Join, which is awaited once, by the owner.
class TaskGroup {
 public:
  TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Begins `task`; returns when it waits for the first time.
  void Start(Task<void> task) {
    running_.fetch_add(1, std::memory_order_relaxed);
    Spawn(Run(std::move(task)));
  }

  // `co_await group.Join();`
  auto Join() {
    struct Awaiter {
      TaskGroup& group;
      bool await_ready() noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> owner) noexcept {
        group.owner_ = owner;
        return !group.LeaveAsLast();
      }
      void await_resume() noexcept {}
    };
    return Awaiter{*this};
  }

 private:
  Task<void> Run(Task<void> task) {
    co_await std::move(task);
    if (LeaveAsLast()) owner_.resume();
  }

  bool LeaveAsLast() { return running_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  std::atomic<int64_t> running_{1};  // tasks, and the owner until it joins
  std::coroutine_handle<> owner_;    // written before the owner leaves
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_TASK_GROUP_H_
