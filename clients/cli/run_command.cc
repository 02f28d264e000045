#include <memory>

#include "clients/cli/answer.h"
#include "clients/cli/commands.h"
#include "clients/cli/inputs/prompt_text.h"
#include "clients/cli/session.h"
#include "clients/cli/single_answer.h"
#include "clients/cli/terminal/exit_code.h"

namespace phyllo {

int RunCommand(const RunOptions& options, Terminal& terminal, Interrupts& interrupts) {
  int exit_code = kExitOk;
  const gateway::v1::GenerateRequest request =
      MakeRequest(options, ReadTextArgument(options.prompt, terminal));
  const std::unique_ptr<Session> session =
      Session::Open(options.target, options.json, terminal, interrupts, exit_code);
  if (session == nullptr) return exit_code;
  return AnswerOnce(*session, request, options, terminal, interrupts);
}

}  // namespace phyllo
