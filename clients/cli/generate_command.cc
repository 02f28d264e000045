#include <memory>
#include <string>
#include <utility>

#include "clients/cli/answer.h"
#include "clients/cli/commands.h"
#include "clients/cli/inputs/json_lines.h"
#include "clients/cli/inputs/prompt_text.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/single_answer.h"
#include "clients/cli/terminal/exit_code.h"

namespace phyllo {
namespace {

// The answer to one line, or its error.
nlohmann::ordered_json AnswerLine(const InputLine& line, const GenerateOptions& options,
                                  Session& session, Interrupts& interrupts) {
  gateway::v1::GenerateRequest request = options.run.request;
  if (const absl::Status parsed = MergeFromLine(line, request); !parsed.ok())
    return ErrorToJson(parsed);
  Answer answer = Generate(session.client(), request, {.timeout = options.run.timeout}, interrupts,
                           [](const gateway::v1::GenerateResponse&) {});
  return answer.status.ok() ? ToJson(answer.response) : ErrorToJson(answer.status);
}

int AnswerLines(const GenerateOptions& options, Session& session, Terminal& terminal,
                Interrupts& interrupts) {
  return AnswerJsonLines(options.concurrency, terminal, interrupts, [&](const InputLine& line) {
    return AnswerLine(line, options, session, interrupts);
  });
}

}  // namespace

int GenerateCommand(const GenerateOptions& options, Terminal& terminal, Interrupts& interrupts) {
  gateway::v1::GenerateRequest request;
  if (!options.json_lines && options.ids.empty()) {
    request = MakeRequest(options.run, ReadTextArgument(options.run.prompt, terminal));
  } else if (!options.json_lines) {
    request = options.run.request;
    request.mutable_token_ids()->mutable_ids()->Add(options.ids.begin(), options.ids.end());
  }
  int exit_code = kExitOk;
  const std::unique_ptr<Session> session =
      Session::Open(options.run.target, options.run.json, terminal, interrupts, exit_code);
  if (session == nullptr) return exit_code;
  return options.json_lines
             ? AnswerLines(options, *session, terminal, interrupts)
             : AnswerOnce(*session, std::move(request), options.run, terminal, interrupts);
}

}  // namespace phyllo
