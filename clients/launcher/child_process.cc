// Invariants: between fork and exec the child calls async-signal-safe functions only, since other
// threads may have held locks when we forked. The child alone holds the writing end of the end
// pipe, so the pipe reads as ended exactly when the child has ended.
#include "clients/launcher/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace phyllo {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return absl::InternalError(absl::StrCat("pipe2: ", std::strerror(errno)));
  return Pipe{ends[0], ends[1]};
}

// In the child. Tells `error_pipe` the errno of what failed; never returns.
[[noreturn]] void Exec(char* const* arguments, const char* log_path, pid_t parent, int end_pipe,
                       int error_pipe) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // The parent died before prctl.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(signal_number, SIG_DFL);
  const int input = open("/dev/null", O_RDONLY);
  const int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  // Without O_CLOEXEC the end pipe stays open until the program ends.
  if (input >= 0 && log >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
      dup2(log, STDERR_FILENO) >= 0 && fcntl(end_pipe, F_SETFD, 0) == 0) {
    execv(arguments[0], arguments);
  }
  const int error = errno;
  if (write(error_pipe, &error, sizeof(error)) < 0) _exit(126);
  _exit(127);
}

// The errno that Exec sent, or 0 when the pipe was closed by a successful exec.
int ReadExecError(int read_end) {
  int error = 0;
  ssize_t count;
  do count = read(read_end, &error, sizeof(error));
  while (count < 0 && errno == EINTR);
  return count == sizeof(error) ? error : 0;
}

absl::Status ExecError(const std::string& path, int error) {
  const std::string message = absl::StrCat("cannot run ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::InternalError(message);
}

std::string DescribeEnd(int wait_status) {
  if (WIFEXITED(wait_status)) return absl::StrCat("exit code ", WEXITSTATUS(wait_status));
  return absl::StrCat("signal ", WTERMSIG(wait_status), " (", strsignal(WTERMSIG(wait_status)),
                      ")");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Spawn(
    const std::vector<std::string>& arguments, const std::string& log_path) {
  absl::StatusOr<Pipe> end_pipe = MakePipe();
  if (!end_pipe.ok()) return end_pipe.status();
  absl::StatusOr<Pipe> error_pipe = MakePipe();
  if (!error_pipe.ok()) {
    close(end_pipe->read_end);
    close(end_pipe->write_end);
    return error_pipe.status();
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0)
    Exec(argv.data(), log_path.c_str(), parent, end_pipe->write_end, error_pipe->write_end);
  const int fork_error = errno;
  close(end_pipe->write_end);
  close(error_pipe->write_end);
  const int exec_error = pid < 0 ? fork_error : ReadExecError(error_pipe->read_end);
  close(error_pipe->read_end);
  if (pid < 0) {
    close(end_pipe->read_end);
    return absl::InternalError(absl::StrCat("fork: ", std::strerror(fork_error)));
  }
  std::unique_ptr<ChildProcess> child(new ChildProcess(pid, end_pipe->read_end));
  if (exec_error != 0) return ExecError(arguments[0], exec_error);
  return child;
}

ChildProcess::~ChildProcess() {
  Kill();
  WaitForEnd(absl::InfiniteDuration());
  close(end_pipe_);
}

std::optional<std::string> ChildProcess::HowItEnded() {
  if (how_it_ended_.has_value()) return how_it_ended_;
  int wait_status = 0;
  if (waitpid(pid_, &wait_status, WNOHANG) == pid_) how_it_ended_ = DescribeEnd(wait_status);
  return how_it_ended_;
}

void ChildProcess::Terminate() {
  if (!HowItEnded().has_value()) kill(pid_, SIGTERM);
}

void ChildProcess::Kill() {
  if (!HowItEnded().has_value()) kill(pid_, SIGKILL);
}

bool ChildProcess::WaitForEnd(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!HowItEnded().has_value()) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return false;
    pollfd end = {end_pipe_, POLLIN, 0};
    // The pipe closes a moment before the process can be waited for.
    if (poll(&end, 1, static_cast<int>(std::min<int64_t>(left, 1000))) <= 0) continue;
    int wait_status = 0;
    if (waitpid(pid_, &wait_status, 0) == pid_) how_it_ended_ = DescribeEnd(wait_status);
  }
  return true;
}

}  // namespace phyllo
