#include "services/common/service_process.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "services/common/internal/metrics_server.h"

namespace phyllo {
namespace {

// Readers never see half a file: it appears under its name when it is complete.
absl::Status WriteWhole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  std::ofstream file(temporary, std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write the port file \"", path, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

ServiceProcess::ServiceProcess(const ServiceProcessOptions& options)
    : options_(options), logger_(options.logger), load_progress_(logger_, options.progress_file) {
  // Debian's Abseil is built with its search for deadlocks, which every lock of gRPC pays for.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

int ServiceProcess::Run(const std::vector<CarriedService>& services, const ServiceHooks& hooks) {
  std::unique_ptr<MetricsServer> metrics_server;
  if (!options_.metrics_address.empty()) {
    absl::StatusOr<std::unique_ptr<MetricsServer>> started =
        MetricsServer::Start(options_.metrics_address, metrics_);
    if (!started.ok()) return Fail(started.status());
    metrics_server = *std::move(started);
  }
  const absl::StatusOr<std::unique_ptr<Server>> started =
      Server::Start(options_.server, services, metrics_);
  if (!started.ok()) return Fail(started.status());
  Server& server = **started;

  if (hooks.on_started) {
    hooks.on_started(server);
  } else {
    server.SetServing(true);
  }
  const absl::Cleanup stopped = [&hooks] {
    if (hooks.on_stopped) hooks.on_stopped();
  };
  const absl::Status announced =
      Announce(server, metrics_server == nullptr ? "" : metrics_server->address());
  if (!announced.ok()) return Fail(announced);

  signals_.WaitForFirst();
  logger_.Info("draining", {{"grace_seconds", options_.drain_grace},
                            {"timeout_seconds", options_.drain_timeout}});
  if (hooks.on_drain) hooks.on_drain();
  server.Drain(options_.drain_grace, options_.drain_timeout);
  logger_.Info("stopped");
  return 0;
}

int ServiceProcess::Fail(const absl::Status& status) {
  logger_.Error("cannot start", {{"error", status}});
  return 1;
}

absl::Status ServiceProcess::Announce(const Server& server, const std::string& metrics_address) {
  std::string lines;
  for (const std::string& address : server.addresses())
    absl::StrAppend(&lines, "listen ", address, "\n");
  if (!metrics_address.empty()) absl::StrAppend(&lines, "metrics ", metrics_address, "\n");
  if (!options_.port_file.empty()) {
    const absl::Status written = WriteWhole(options_.port_file, lines);
    if (!written.ok()) return written;
  }
  for (const std::string& address : server.addresses())
    std::cout << "ready listen " << address << "\n";
  if (!metrics_address.empty()) std::cout << "ready metrics " << metrics_address << "\n";
  std::cout.flush();
  logger_.Info("accepting calls", {{"addresses", absl::StrJoin(server.addresses(), ",")},
                                   {"metrics_address", metrics_address}});
  return absl::OkStatus();
}

}  // namespace phyllo
