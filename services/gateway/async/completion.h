// Between the reactions of gRPC and a task.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_COMPLETION_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_COMPLETION_H_

#include <coroutine>
#include <utility>

namespace phyllo {

// Lets a task start an operation and wait for the reaction to its end: one operation at a time. The
// reaction may come in another thread before the start has returned; then the task may be gone, and
// this object with it, while the start is on its way out.
class Completion {
 public:
  // `const bool ok = co_await completion.Await([&] { StartRead(&message); });`
  template <typename Start>
  auto Await(Start start) {
    return Awaiter<Start>(*this, std::move(start));
  }

  // Called by the reaction, as the last it does: the task goes on inside.
  void Complete(bool ok) {
    ok_ = ok;
    waiter_.resume();
  }

 private:
  template <typename Start>
  class Awaiter {
   public:
    Awaiter(Completion& completion, Start start)
        : completion_(completion), start_(std::move(start)) {}
    bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      completion_.waiter_ = waiter;
      const Start start = std::move(start_);  // on this thread's stack: see above
      start();
    }
    bool await_resume() noexcept { return completion_.ok_; }

   private:
    Completion& completion_;
    Start start_;
  };

  std::coroutine_handle<> waiter_;
  bool ok_ = false;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_COMPLETION_H_
