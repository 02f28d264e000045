// Ctrl-C as an event, not as the end.
#ifndef PHYLLO_CLIENTS_CLI_TERMINAL_INTERRUPTS_H_
#define PHYLLO_CLIENTS_CLI_TERMINAL_INTERRUPTS_H_

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "clients/cpp/generate_stream.h"

namespace phyllo {

// Must be made first in main: it blocks SIGINT, SIGTERM and SIGHUP in this thread and all it
// starts, and takes them in a thread of its own. SIGINT sets interrupted(), the others terminated()
// as well; a second signal before Reset() ends the program at once with 128 + signal (the kernel
// then ends the services). Thread-safe.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether a signal came since the last Reset().
  bool interrupted() const { return interrupted_; }
  const std::atomic<bool>* interrupted_flag() const { return &interrupted_; }
  // Whether the program was asked to end, not only to stop what it does.
  bool terminated() const { return terminated_; }
  // Forgets an interrupt that was dealt with, but not the wish to end.
  void Reset();
  // Readable while interrupted(): for poll().
  int event_fd() const { return event_fd_; }

  // From now until Remove() an interrupt cancels this stream, at once if it has come already. The
  // stream is shared with the thread that may be cancelling it.
  void Add(std::shared_ptr<GenerateStream> stream) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const GenerateStream* stream) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Watch();

  const int event_fd_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> terminated_{false};
  std::atomic<bool> stop_{false};
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<GenerateStream>> streams_ ABSL_GUARDED_BY(mutex_);
  std::thread watcher_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_TERMINAL_INTERRUPTS_H_
