// Where a text argument comes from.
#ifndef PHYLLO_CLIENTS_CLI_PROMPT_TEXT_H_
#define PHYLLO_CLIENTS_CLI_PROMPT_TEXT_H_

#include <string>

#include "clients/cli/command_line.h"
#include "clients/cli/terminal/terminal.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// `argument`, or all of standard input if it is "-".
std::string ReadTextArgument(const std::string& argument, Terminal& terminal);

// The request of `run` and `generate`: the parameters with the text as prompt, or as a user's turn
// of a chat.
gateway::v1::GenerateRequest MakeRequest(const RunOptions& options, const std::string& text);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_PROMPT_TEXT_H_
