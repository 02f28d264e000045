// Tasks in tests.
#ifndef PHYLLO_SERVICES_GATEWAY_TESTING_BLOCK_ON_H_
#define PHYLLO_SERVICES_GATEWAY_TESTING_BLOCK_ON_H_

#include <optional>
#include <utility>

#include "absl/synchronization/notification.h"
#include "services/gateway/async/task.h"

namespace phyllo {

namespace internal {

template <typename T>
Task<void> KeepResult(Task<T> task, std::optional<T>& result, absl::Notification& done) {
  result.emplace(co_await std::move(task));
  done.Notify();
}

}  // namespace internal

// Begins `task` on this thread, waits for its end, and returns its result.
template <typename T>
T BlockOn(Task<T> task) {
  std::optional<T> result;
  absl::Notification done;
  Spawn(internal::KeepResult(std::move(task), result, done));
  done.WaitForNotification();
  return *std::move(result);
}

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_TESTING_BLOCK_ON_H_
