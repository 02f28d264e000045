// `phyllo inspect`: reads a model folder on this machine, and is therefore the one client that sees
// the model library.
#ifndef PHYLLO_CLIENTS_CLI_INSPECT_COMMAND_H_
#define PHYLLO_CLIENTS_CLI_INSPECT_COMMAND_H_

#include "clients/cli/command_line.h"
#include "clients/cli/terminal/terminal.h"

namespace phyllo {

// Writes the structure of the model as a table, or as JSON; returns main's exit code (exit_code.h).
int InspectCommand(const InspectOptions& options, Terminal& terminal);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_INSPECT_COMMAND_H_
