#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "clients/cli/commands.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cli/terminal/text_table.h"

namespace phyllo {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

std::string Uptime(const common::v1::ServerInfo& server) {
  return server.has_uptime() ? absl::FormatDuration(absl::Seconds(server.uptime().seconds())) : "-";
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::vector<std::string> Row(const std::string& service, const std::string& address,
                             const std::string& state, const common::v1::ServerInfo& server,
                             const std::string& tokens) {
  return {service,
          address,
          state,
          OrDash(server.model()),
          OrDash(server.precision()),
          OrDash(server.instruction_set()),
          OrDash(server.software_version()),
          Uptime(server),
          tokens};
}

}  // namespace

int PsCommand(const PsOptions& options, Terminal& terminal) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(options.address);
  if (!client.ok())
    return Fail(client.status(), ExitCodeOf(client.status()), options.json, terminal);
  const absl::StatusOr<gateway::v1::GetModelResponse> model =
      (*client)->GetModel({}, {.timeout = kTimeout});
  if (!model.ok()) return Fail(model.status(), ExitCodeOf(model.status()), options.json, terminal);
  if (options.json) {
    terminal.out << DumpJson(ToJson(*model)) << std::endl;
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {{"SERVICE", "ADDRESS", "STATE", "MODEL",
                                                 "PRECISION", "KERNELS", "VERSION", "UPTIME",
                                                 "TOKENS UNDER WAY"}};
  rows.push_back(Row("gateway", options.address, "available", model->gateway(), "-"));
  for (const gateway::v1::Backend& backend : model->backends()) {
    const std::string state =
        backend.available() ? "available" : absl::StrCat("not available: ", backend.reason());
    rows.push_back(Row(backend.service(), backend.address(), state, backend.server(),
                       absl::StrCat(backend.outstanding_token_count())));
  }
  terminal.out << FormatTable(rows) << std::flush;
  return kExitOk;
}

}  // namespace phyllo
