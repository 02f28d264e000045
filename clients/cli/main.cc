// phyllo: the command line of Phyllo.
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "clients/cli/bench/bench_command.h"
#include "clients/cli/command_line.h"
#include "clients/cli/commands.h"
#include "clients/cli/inputs/input_commands.h"
#include "clients/cli/inspect_command.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/line_reader.h"
#include "clients/cli/terminal/terminal.h"

namespace phyllo {
namespace {

std::string Environment(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

struct Dispatcher {
  Terminal& terminal;
  Interrupts& interrupts;

  int operator()(const HelpOptions& options) const {
    terminal.out << options.text << std::flush;
    return kExitOk;
  }
  int operator()(const RunOptions& options) const {
    return RunCommand(options, terminal, interrupts);
  }
  int operator()(const ChatOptions& options) const {
    LineReader reader(STDIN_FILENO, interrupts.event_fd());
    return ChatCommand(
        options, [&reader](std::string& line) { return reader.ReadLine(line); }, terminal,
        interrupts);
  }
  int operator()(const UpOptions& options) const {
    return UpCommand(options, terminal, interrupts);
  }
  int operator()(const GenerateOptions& options) const {
    return GenerateCommand(options, terminal, interrupts);
  }
  int operator()(const EmbedOptions& options) const {
    return EmbedCommand(options, terminal, interrupts);
  }
  int operator()(const ClassifyOptions& options) const {
    return ClassifyCommand(options, terminal, interrupts);
  }
  int operator()(const ScoreOptions& options) const {
    return ScoreCommand(options, terminal, interrupts);
  }
  int operator()(const TokenizeOptions& options) const {
    return TokenizeCommand(options, terminal, interrupts);
  }
  int operator()(const InspectOptions& options) const { return InspectCommand(options, terminal); }
  int operator()(const BenchOptions& options) const {
    return BenchCommand(options, terminal, interrupts);
  }
  int operator()(const PsOptions& options) const { return PsCommand(options, terminal); }
};

int Main(int argc, char** argv) {
  // Debian's Abseil is built with its search for deadlocks, which every lock of gRPC pays for.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Interrupts interrupts;
  Terminal terminal = {std::cin, std::cout, std::cerr, isatty(STDIN_FILENO) != 0,
                       isatty(STDERR_FILENO) != 0};
  const CommandEnvironment environment = {Environment("PHYLLO_ADDRESS"),
                                          Environment("BUILD_WORKING_DIRECTORY")};
  const absl::StatusOr<CommandLine> command =
      ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc), environment);
  if (!command.ok()) {
    terminal.err << "phyllo: " << command.status().message() << "\nTry phyllo --help." << std::endl;
    return kExitUsage;
  }
  return std::visit(Dispatcher{terminal, interrupts}, *command);
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
