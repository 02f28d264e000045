// What embed, classify and score have in common: from the input to the answers.
#ifndef PHYLLO_CLIENTS_CLI_INPUTS_INPUT_REQUEST_H_
#define PHYLLO_CLIENTS_CLI_INPUTS_INPUT_REQUEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "clients/cli/command_line.h"
#include "clients/cli/inputs/json_lines.h"
#include "clients/cli/inputs/prompt_text.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/terminal.h"
#include "clients/cpp/client.h"

namespace phyllo {

// One RPC of the client that takes a request made of inputs.
template <typename Request, typename Response>
using InputCall = absl::StatusOr<Response> (Client::*)(const Request&, const CallOptions&);

// Runs an InputCall for the input of a command: once with the texts or ids, which `add_input` puts
// into the request, or once a line with --json-lines. Without --json `print` writes an answer to
// `out`. Returns main's exit code.
template <typename Options, typename Request, typename Response>
int AnswerInput(
    const Options& options, InputCall<Request, Response> call,
    absl::FunctionRef<absl::Status(const std::vector<std::string>& texts, Request&)> add_input,
    absl::FunctionRef<void(const Response&)> print, Terminal& terminal, Interrupts& interrupts) {
  const InputOptions& input = options.input;
  Request request = options.request;
  if (!input.json_lines) {
    absl::Status status;
    const absl::StatusOr<std::vector<std::string>> texts = ReadTexts(input, terminal);
    status = texts.ok() ? add_input(*texts, request) : texts.status();
    if (!status.ok()) return Fail(status, ExitCodeOf(status), input.json, terminal);
  }
  int exit_code = kExitOk;
  const std::unique_ptr<Session> session =
      Session::Open(options.target, input.json, terminal, interrupts, exit_code);
  if (session == nullptr) return exit_code;
  const CallOptions call_options = {.timeout = input.timeout};
  if (input.json_lines) {
    return AnswerJsonLines(input.concurrency, terminal, interrupts, [&](const InputLine& line) {
      Request line_request = options.request;
      const absl::Status parsed = MergeFromLine(line, line_request);
      if (!parsed.ok()) return ErrorToJson(parsed);
      const absl::StatusOr<Response> response =
          (session->client().*call)(line_request, call_options);
      return response.ok() ? ToJson(*response) : ErrorToJson(response.status());
    });
  }
  const absl::StatusOr<Response> response = (session->client().*call)(request, call_options);
  if (!response.ok()) {
    const absl::Status status = session->Explain(response.status());
    return Fail(status, ExitCodeOf(status), input.json, terminal);
  }
  if (input.json) {
    terminal.out << DumpJson(ToJson(*response)) << std::endl;
  } else {
    print(*response);
  }
  return kExitOk;
}

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_INPUTS_INPUT_REQUEST_H_
