// --json-lines: requests on standard input, one a line, and their results in the same order.
#ifndef PHYLLO_CLIENTS_CLI_INPUTS_JSON_LINES_H_
#define PHYLLO_CLIENTS_CLI_INPUTS_JSON_LINES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/terminal.h"
#include "nlohmann/json.hpp"

namespace phyllo {

// One line of input with its number, from 1.
struct InputLine {
  int64_t number;
  std::string text;
};

// Calls `answer` for every line that is not blank, on `concurrency` threads, and writes what it
// returns to `out`, one object a line in the order of the lines. Returns main's exit code:
// kExitError if a result has "error", kExitInterrupted after an interrupt, which ends the reading.
int AnswerJsonLines(int concurrency, Terminal& terminal, Interrupts& interrupts,
                    absl::FunctionRef<nlohmann::ordered_json(const InputLine& line)> answer);

// Reads the line over `request`. INVALID_ARGUMENT names the line.
template <typename Request>
absl::Status MergeFromLine(const InputLine& line, Request& request) {
  const absl::Status parsed = MergeFromJson(line.text, request);
  if (parsed.ok()) return parsed;
  return absl::InvalidArgumentError(absl::StrCat("line ", line.number, ": ", parsed.message()));
}

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_INPUTS_JSON_LINES_H_
