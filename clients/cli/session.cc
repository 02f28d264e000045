#include "clients/cli/session.h"

#include <filesystem>
#include <utility>

#include "clients/cli/request/proto_json.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cli/terminal/progress_line.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

// The last part of a path, whether or not it ends with a slash.
std::string FolderName(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return (normal.has_filename() ? normal.filename() : normal.parent_path().filename()).string();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalServices>> StartServices(const TargetOptions& target,
                                                             const std::string& listen,
                                                             Terminal& terminal,
                                                             Interrupts& interrupts) {
  LocalServicesOptions options;
  options.gateway_address = listen;
  options.flags = target.service_flags;
  options.cancelled = interrupts.interrupted_flag();
  options.model_folder = target.model;
  if (options.model_folder.empty()) {
    PHYLLO_ASSIGN_OR_RETURN(options.model_folder, FindDemoModel());
  }
  const absl::StatusOr<ServiceBinaries> binaries = FindServiceBinaries();
  // The installation is broken, not the request.
  if (!binaries.ok()) return absl::InternalError(binaries.status().message());
  options.binaries = *binaries;
  const std::string name = FolderName(options.model_folder);
  ProgressLine line(terminal);
  return LocalServices::Start(
      options, [&](const LaunchProgress& progress) { line.Show(DescribeLaunch(name, progress)); });
}

std::unique_ptr<Session> Session::Open(const TargetOptions& target, bool json, Terminal& terminal,
                                       Interrupts& interrupts, int& exit_code) {
  std::unique_ptr<LocalServices> services;
  std::string address = target.address;
  if (address.empty()) {
    absl::StatusOr<std::unique_ptr<LocalServices>> started =
        StartServices(target, "", terminal, interrupts);
    if (!started.ok()) {
      exit_code = Fail(started.status(), ExitCodeOfStart(started.status()), json, terminal);
      return nullptr;
    }
    services = *std::move(started);
    address = services->address(ServiceKind::kGateway);
  }
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(address);
  if (!client.ok()) {
    exit_code = Fail(client.status(), ExitCodeOf(client.status()), json, terminal);
    return nullptr;
  }
  return std::unique_ptr<Session>(new Session(address, std::move(services), *std::move(client)));
}

Session::Session(std::string address, std::unique_ptr<LocalServices> services,
                 std::unique_ptr<Client> client)
    : address_(std::move(address)), services_(std::move(services)), client_(std::move(client)) {}

absl::Status Session::CheckServices() {
  return services_ == nullptr ? absl::OkStatus() : services_->CheckRunning();
}

absl::Status Session::Explain(const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return status;
  const absl::Status running = CheckServices();
  return running.ok() ? status : running;
}

int Fail(const absl::Status& status, int exit_code, bool json, Terminal& terminal) {
  if (json) {
    terminal.out << DumpJson(ErrorToJson(status)) << std::endl;
  } else {
    terminal.err << "phyllo: " << DescribeError(status) << std::endl;
  }
  return exit_code;
}

}  // namespace phyllo
