// `phyllo bench`.
#ifndef PHYLLO_CLIENTS_CLI_BENCH_BENCH_COMMAND_H_
#define PHYLLO_CLIENTS_CLI_BENCH_BENCH_COMMAND_H_

#include "clients/cli/command_line.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/terminal.h"

namespace phyllo {

// Measures and writes a report, with progress on a terminal; an interrupt ends the measuring, and
// what was measured is written. Returns main's exit code (exit_code.h): kExitOk if any request was
// answered, whatever became of others.
int BenchCommand(const BenchOptions& options, Terminal& terminal, Interrupts& interrupts);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_BENCH_BENCH_COMMAND_H_
