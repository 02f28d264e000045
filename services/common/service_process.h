// What the four service binaries share from main to exit. A main reads:
//
//   int main(int argc, char** argv) {
//     ServiceProcess process(ParseServiceFlags("tokenizer", "127.0.0.1:50051", kUsage, argc,
//     argv)); absl::StatusOr<...> model = Load(...);                       // a signal during
//     loading ends the process at once if (!model.ok()) return process.Fail(model.status());
//     TokenizerServiceImpl service(*model, process.logger());
//     return process.Run({{&service, TokenizerService::service_full_name()}});
//   }
#ifndef PHYLLO_SERVICES_COMMON_SERVICE_PROCESS_H_
#define PHYLLO_SERVICES_COMMON_SERVICE_PROCESS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/internal/termination_signals.h"
#include "services/common/loading/load_progress.h"
#include "services/common/logger.h"
#include "services/common/metrics.h"
#include "services/common/server.h"

namespace phyllo {

struct ServiceProcessOptions {
  LoggerOptions logger;
  ServerOptions server;
  // "host:port" of GET /metrics; port 0 takes a free one; empty: none.
  std::string metrics_address;
  // File that receives "listen ADDRESS" for every bound address and "metrics ADDRESS", one a line,
  // once clients can dial. Written whole (renamed into place). Empty: none. The same lines,
  // prefixed by "ready ", go to standard output in any case.
  std::string port_file;
  // File that receives how far loading has come; see LoadProgress. Empty: none.
  std::string progress_file;
  // After SIGTERM: NOT_SERVING for this long before new calls are refused.
  absl::Duration drain_grace = absl::Seconds(1);
  // And then this long for running calls to finish.
  absl::Duration drain_timeout = absl::Seconds(30);
};

struct ServiceHooks {
  // Called once when the sockets accept calls. When set, it decides when health becomes SERVING (it
  // may keep the reference until on_stopped); when empty, the service is SERVING at once, so Run is
  // called only with everything loaded, verified and warm.
  std::function<void(Server& server)> on_started;
  // Called once when the drain begins, before new calls are refused.
  std::function<void()> on_drain;
  // Called once when on_started was called and the server is about to be destroyed.
  std::function<void()> on_stopped;
};

// Owns the logger, the metrics and the signals of a process. Made first in main, before any thread
// exists. Thread-compatible.
class ServiceProcess {
 public:
  explicit ServiceProcess(const ServiceProcessOptions& options);
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  Logger& logger() { return logger_; }
  MetricRegistry& metrics() { return metrics_; }
  LoadProgress& load_progress() { return load_progress_; }
  // What Run starts the server with; may be changed before.
  ServerOptions& server_options() { return options_.server; }

  // Serves until SIGTERM or SIGINT, drains, and returns main's exit code: 0 after an orderly stop,
  // 1 if it could not start.
  int Run(const std::vector<CarriedService>& services, const ServiceHooks& hooks = {});

  // Logs why the process cannot start; returns main's exit code 1.
  int Fail(const absl::Status& status);

 private:
  absl::Status Announce(const Server& server, const std::string& metrics_address);

  TerminationSignals signals_;
  ServiceProcessOptions options_;
  Logger logger_;
  MetricRegistry metrics_;
  LoadProgress load_progress_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_SERVICE_PROCESS_H_
