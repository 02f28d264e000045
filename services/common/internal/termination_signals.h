// SIGTERM and SIGINT as events of a thread, not as interruptions of all of them.
#ifndef PHYLLO_SERVICES_COMMON_INTERNAL_TERMINATION_SIGNALS_H_
#define PHYLLO_SERVICES_COMMON_INTERNAL_TERMINATION_SIGNALS_H_

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"

namespace phyllo {

// Must be the first object of main: it blocks both signals in the calling thread, whose children
// inherit the mask, and waits for them in a thread of its own. Until WaitForFirst() is called a
// signal ends the process at once (a start-up has nothing to drain); from then on the first signal
// is an orderly stop and the second one ends the process at once, with exit code 128 + signal.
// Thread-safe.
class TerminationSignals {
 public:
  TerminationSignals();
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  // Blocks until the first SIGTERM or SIGINT.
  void WaitForFirst();

 private:
  void Watch();

  std::atomic<bool> drain_on_first_{false};
  std::atomic<bool> stop_{false};
  absl::Notification first_;
  std::thread watcher_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_INTERNAL_TERMINATION_SIGNALS_H_
