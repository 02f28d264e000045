#include <poll.h>

#include <memory>

#include "clients/cli/commands.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cli/terminal/text_table.h"

namespace phyllo {
namespace {

constexpr int kCheckIntervalMs = 200;

void WriteAddresses(const LocalServices& services, bool json, Terminal& terminal) {
  if (json) {
    nlohmann::ordered_json object;
    for (const ServiceKind kind : kAllServiceKinds) {
      object[std::string(ServiceName(kind))] = {{"address", services.address(kind)},
                                                {"pid", services.pid(kind)}};
    }
    terminal.out << DumpJson(object) << std::endl;
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"SERVICE", "PID", "ADDRESS"}};
  for (const ServiceKind kind : kAllServiceKinds) {
    rows.push_back({std::string(ServiceName(kind)), std::to_string(services.pid(kind)),
                    services.address(kind)});
  }
  terminal.out << FormatTable(rows) << std::flush;
}

}  // namespace

int UpCommand(const UpOptions& options, Terminal& terminal, Interrupts& interrupts) {
  const absl::StatusOr<std::unique_ptr<LocalServices>> services =
      StartServices(options.target, options.listen, terminal, interrupts);
  if (!services.ok())
    return Fail(services.status(), ExitCodeOfStart(services.status()), options.json, terminal);
  WriteAddresses(**services, options.json, terminal);
  if (terminal.err_is_terminal) terminal.err << "Ready. Ctrl-C stops the services." << std::endl;
  while (!interrupts.interrupted()) {
    const absl::Status restarted =
        (*services)->RestartEnded([&](ServiceKind kind, const std::string& how_it_ended) {
          terminal.err << "phyllo: the " << ServiceName(kind) << " service ended with "
                       << how_it_ended << "; it is started again" << std::endl;
        });
    if (!restarted.ok()) return Fail(restarted, kExitUnavailable, options.json, terminal);
    pollfd interrupt = {interrupts.event_fd(), POLLIN, 0};
    poll(&interrupt, 1, kCheckIntervalMs);
  }
  return kExitOk;
}

}  // namespace phyllo
