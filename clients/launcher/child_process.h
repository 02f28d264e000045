// One child process that cannot outlive us.
#ifndef PHYLLO_CLIENTS_LAUNCHER_CHILD_PROCESS_H_
#define PHYLLO_CLIENTS_LAUNCHER_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace phyllo {

// Owns a running program. Killed by the destructor, and by the kernel when the thread that spawned
// it ends (PR_SET_PDEATHSIG). Runs in a process group of its own, so that a terminal's Ctrl-C does
// not reach it, with no signal blocked and /dev/null as standard input. Thread-compatible.
class ChildProcess {
 public:
  // Runs `arguments` (the first is the program's path) with standard output and error appended to
  // `log_path`. NOT_FOUND or PERMISSION_DENIED if it cannot be executed, INTERNAL if the system has
  // no process or file left.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(
      const std::vector<std::string>& arguments, const std::string& log_path);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // How it ended: "exit code 1" or "signal 9 (Killed)". No value while it runs.
  std::optional<std::string> HowItEnded();
  // Asks it to end; no effect after it did.
  void Terminate();
  void Kill();
  // Waits until it ended, at most `timeout`; tells whether it did.
  bool WaitForEnd(absl::Duration timeout);

 private:
  ChildProcess(pid_t pid, int end_pipe) : pid_(pid), end_pipe_(end_pipe) {}

  const pid_t pid_;
  const int end_pipe_;  // Reads as ended when the process has.
  std::optional<std::string> how_it_ended_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_LAUNCHER_CHILD_PROCESS_H_
