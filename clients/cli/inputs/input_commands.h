// The subcommands that read texts and give numbers. Each writes to the terminal and returns main's
// exit code (exit_code.h).
#ifndef PHYLLO_CLIENTS_CLI_INPUTS_INPUT_COMMANDS_H_
#define PHYLLO_CLIENTS_CLI_INPUTS_INPUT_COMMANDS_H_

#include "clients/cli/command_line.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/terminal.h"

namespace phyllo {

int EmbedCommand(const EmbedOptions& options, Terminal& terminal, Interrupts& interrupts);
int ClassifyCommand(const ClassifyOptions& options, Terminal& terminal, Interrupts& interrupts);
int ScoreCommand(const ScoreOptions& options, Terminal& terminal, Interrupts& interrupts);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_INPUTS_INPUT_COMMANDS_H_
