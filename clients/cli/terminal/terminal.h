// The standard streams of the program, so that tests can bring their own.
#ifndef PHYLLO_CLIENTS_CLI_TERMINAL_TERMINAL_H_
#define PHYLLO_CLIENTS_CLI_TERMINAL_TERMINAL_H_

#include <istream>
#include <ostream>

namespace phyllo {

// Borrows the streams. `out` takes what was asked for, `err` all else. Thread-compatible.
struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  // Whether a person is there: progress and speed are written to `err` only then, prompts only if
  // both are true.
  bool in_is_terminal = false;
  bool err_is_terminal = false;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_TERMINAL_TERMINAL_H_
