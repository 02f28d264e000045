#include "clients/cli/single_answer.h"

#include "clients/cli/answer.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/terminal/exit_code.h"

namespace phyllo {

int AnswerOnce(Session& session, gateway::v1::GenerateRequest request, const RunOptions& options,
               Terminal& terminal, Interrupts& interrupts) {
  const CallOptions call = {.timeout = options.timeout};
  if (options.json) {
    const Answer answer = Generate(session.client(), request, call, interrupts,
                                   [](const gateway::v1::GenerateResponse&) {});
    const absl::Status status = session.Explain(answer.status);
    if (!status.ok()) return Fail(status, ExitCodeOf(status), true, terminal);
    terminal.out << DumpJson(ToJson(answer.response)) << std::endl;
    return kExitOk;
  }
  if (terminal.err_is_terminal) request.mutable_output()->set_prefill_progress(true);
  const Answer answer = GenerateToTerminal(session.client(), request, call, interrupts, terminal);
  const absl::Status status = session.Explain(answer.status);
  return status.ok() ? kExitOk : Fail(status, ExitCodeOf(status), false, terminal);
}

}  // namespace phyllo
