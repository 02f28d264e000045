// The subcommands of `phyllo`. Each writes to the terminal and returns main's exit code
// (exit_code.h).
#ifndef PHYLLO_CLIENTS_CLI_COMMANDS_H_
#define PHYLLO_CLIENTS_CLI_COMMANDS_H_

#include <functional>
#include <string>

#include "clients/cli/command_line.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/line_reader.h"
#include "clients/cli/terminal/terminal.h"

namespace phyllo {

// Where the chat's lines come from: LineReader::ReadLine, or a test's script.
using ReadLineFunction = std::function<LineReader::Result(std::string&)>;

int RunCommand(const RunOptions& options, Terminal& terminal, Interrupts& interrupts);
int ChatCommand(const ChatOptions& options, const ReadLineFunction& read_line, Terminal& terminal,
                Interrupts& interrupts);
int UpCommand(const UpOptions& options, Terminal& terminal, Interrupts& interrupts);
int GenerateCommand(const GenerateOptions& options, Terminal& terminal, Interrupts& interrupts);
int TokenizeCommand(const TokenizeOptions& options, Terminal& terminal, Interrupts& interrupts);
int PsCommand(const PsOptions& options, Terminal& terminal);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_COMMANDS_H_
