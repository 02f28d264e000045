// How the program tells a script what happened.
#ifndef PHYLLO_CLIENTS_CLI_TERMINAL_EXIT_CODE_H_
#define PHYLLO_CLIENTS_CLI_TERMINAL_EXIT_CODE_H_

#include <string>

#include "absl/status/status.h"

namespace phyllo {

// The numbers are a promise to scripts; `phyllo --help` lists them.
enum ExitCode {
  kExitOk = 0,
  kExitError = 1,  // anything else
  kExitUsage =
      2,  // the command line or the request is wrong: INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE
  kExitUnavailable = 3,   // try later: UNAVAILABLE, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED
  kExitModel = 4,         // the model cannot be loaded
  kExitInterrupted = 130  // Ctrl-C
};

// For a call's status; 0 if it is OK.
ExitCode ExitCodeOf(const absl::Status& status);

// For a status of starting services: what is wrong with the model, unless it was the time or
// Ctrl-C.
ExitCode ExitCodeOfStart(const absl::Status& status);

// "INVALID_ARGUMENT: message", with the wait that an overloaded server asks for: one or more lines
// without a newline at the end.
std::string DescribeError(const absl::Status& status);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_TERMINAL_EXIT_CODE_H_
