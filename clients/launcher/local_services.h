// Starts the four services of a model folder on this machine as child processes, and stops them.
//
//   LocalServicesOptions options;
//   options.model_folder = "/models/Qwen3-0.6B";
//   PHYLLO_ASSIGN_OR_RETURN(options.binaries, FindServiceBinaries());
//   PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<LocalServices> services,
//   LocalServices::Start(options)); Client::Connect(services->address(ServiceKind::kGateway))
#ifndef PHYLLO_CLIENTS_LAUNCHER_LOCAL_SERVICES_H_
#define PHYLLO_CLIENTS_LAUNCHER_LOCAL_SERVICES_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/launcher/child_process.h"
#include "clients/launcher/service_binaries.h"
#include "clients/launcher/serving_watch.h"
#include "clients/launcher/temporary_folder.h"
#include "services/common/loading/load_progress.h"

namespace phyllo {

// Where a service is on its way.
enum class LaunchState { kNotStarted, kLoading, kServing };

// The news of a start.
struct LaunchProgress {
  // By ServiceKind.
  std::array<LaunchState, kServiceKindCount> states;
  // Bytes of memory resident in each process, mapped weights included.
  std::array<int64_t, kServiceKindCount> resident_bytes;
  // What each process that is loading does, and how far it has come; without a name: unknown.
  std::array<LoadActivity, kServiceKindCount> activities;
  // Since Start() was called.
  absl::Duration elapsed;
};

// Hears of a start.
using LaunchObserver = absl::FunctionRef<void(const LaunchProgress&)>;

// Hears that a service ended: "exit code 1", "signal 9 (Killed)".
using EndObserver = absl::FunctionRef<void(ServiceKind kind, const std::string& how_it_ended)>;

struct LocalServicesOptions {
  ServiceBinaries binaries;
  // A Hugging Face model folder.
  std::string model_folder;
  // Where the gateway listens: "host:port" (port 0 takes a free one) or "unix:PATH". Empty: a
  // socket in the private folder. The other services always listen on sockets there.
  std::string gateway_address;
  // Further flags by ServiceKind, for example "--threads=2".
  std::array<std::vector<std::string>, kServiceKindCount> flags;
  // Longest time until all are SERVING; DEADLINE_EXCEEDED after it.
  absl::Duration start_timeout = absl::Minutes(30);
  // Longest time a service has to finish after SIGTERM before it is killed.
  absl::Duration stop_timeout = absl::Seconds(5);
  // When it becomes true, Start() gives up with CANCELLED. Borrowed; may be null.
  const std::atomic<bool>* cancelled = nullptr;
};

// Owns the four processes and a private folder (mode 0700) with their sockets and logs. They end
// with the object, and with the thread that started them: the kernel kills them when it dies. They
// ignore the terminal's Ctrl-C. Thread-compatible.
class LocalServices {
 public:
  // Starts all four and returns when grpc.health.v1 says SERVING for each. `observer` hears of
  // every change and, in between, of the passing time a few times a second, on this thread. Errors,
  // none of which leaves a process behind: FAILED_PRECONDITION with its exit status and last log
  // lines if a service ends before it serves, NOT_FOUND without a model folder, DEADLINE_EXCEEDED,
  // CANCELLED.
  static absl::StatusOr<std::unique_ptr<LocalServices>> Start(
      const LocalServicesOptions& options, LaunchObserver observer = [](const LaunchProgress&) {});
  // Stops.
  ~LocalServices();
  LocalServices(const LocalServices&) = delete;
  LocalServices& operator=(const LocalServices&) = delete;

  // "unix:PATH" or "host:port", with the real port.
  const std::string& address(ServiceKind kind) const;
  // The process; stays the same after it ended.
  pid_t pid(ServiceKind kind) const;
  // The last lines of its log, or less.
  std::string LastLogLines(ServiceKind kind, int line_count) const;
  // OK while all four run, else UNAVAILABLE that names the first that ended, with its exit status
  // and last log lines.
  absl::Status CheckRunning();
  // Starts again, at the same address, every service that has ended, but each at most once a
  // second. `observer` hears which and how it ended. Does not wait until it serves. Errors: those
  // of a program that cannot be executed.
  absl::Status RestartEnded(EndObserver observer);
  // Ends the gateway, then the others: SIGTERM, and SIGKILL after stop_timeout. Idempotent.
  void Stop();

 private:
  // By ServiceKind; null before the service listens.
  using ServingWatches = std::array<std::unique_ptr<ServingWatch>, kServiceKindCount>;

  explicit LocalServices(const LocalServicesOptions& options);
  absl::Status Spawn(ServiceKind kind);
  // Returns when all that were spawned are SERVING.
  absl::Status WaitUntilServing(LaunchObserver observer, absl::Time start_time,
                                ServingWatches& watches);
  absl::Status CheckStart(absl::Time start_time);
  absl::Status ReadAddress(ServiceKind kind);
  void ReadActivity(ServiceKind kind);
  void StopChildren(int first, int last);
  // Of a file in the private folder.
  std::string PathOf(ServiceKind kind, absl::string_view suffix) const;

  const LocalServicesOptions options_;
  std::unique_ptr<TemporaryFolder> folder_;
  std::array<std::string, kServiceKindCount> addresses_;
  std::array<std::unique_ptr<ChildProcess>, kServiceKindCount> children_;
  std::array<absl::Time, kServiceKindCount> spawn_times_;
  std::array<LoadActivity, kServiceKindCount> activities_;  // as last read
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_LAUNCHER_LOCAL_SERVICES_H_
