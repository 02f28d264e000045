// Where a text argument comes from.
#ifndef PHYLLO_CLIENTS_CLI_INPUTS_PROMPT_TEXT_H_
#define PHYLLO_CLIENTS_CLI_INPUTS_PROMPT_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/command_line.h"
#include "clients/cli/terminal/terminal.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// `argument`, or all of standard input if it is "-".
std::string ReadTextArgument(const std::string& argument, Terminal& terminal);

// The texts of `input`: its words, or its file whole or line by line. Errors: NOT_FOUND if the file
// cannot be opened, INVALID_ARGUMENT if no line of it is a text.
absl::StatusOr<std::vector<std::string>> ReadTexts(const InputOptions& input, Terminal& terminal);

// The request of `run` and `generate`: the parameters with the text as prompt, or as a user's turn
// of a chat.
gateway::v1::GenerateRequest MakeRequest(const RunOptions& options, const std::string& text);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_INPUTS_PROMPT_TEXT_H_
