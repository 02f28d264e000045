// The subcommands of `phyllo` with their options, for the parser. Part of command_line.h's library.
#ifndef PHYLLO_CLIENTS_CLI_COMMAND_PARSER_H_
#define PHYLLO_CLIENTS_CLI_COMMAND_PARSER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/command_help.h"
#include "clients/cli/command_line.h"
#include "clients/cli/request/argument_values.h"

namespace phyllo {

// Texts of options whose meaning is worked out after parsing.
struct RawOptions {
  std::vector<std::string> words;  // positional
  RequestSettingTexts settings;
  ServiceFlagTexts service_flags;
  std::string ids;
  std::string timeout;
};

// One subcommand and where its options go.
struct Command {
  CLI::App* app = nullptr;
  bool help = false;
  int max_word_count = 0;
  RawOptions raw;
  std::function<absl::StatusOr<CommandLine>()> finish;
};

// Texts of the options that only `bench` has.
struct RawBenchOptions {
  std::string prompt_tokens;
  std::string output_tokens;
  std::string duration;
};

// Builds the subcommands; owns everything the parser writes to. CLI11 reports errors by
// exceptions, which end in Parse. Nothing is marked as required there, so that --help is seen
// before anything is missed; the commands' finish functions check what is needed.
// Thread-compatible.
class CommandParser {
 public:
  explicit CommandParser(const CommandEnvironment& environment);

  absl::StatusOr<CommandLine> Parse(std::vector<std::string> arguments);

 private:
  // A subcommand without options, and the options that several have.
  Command& Add(const char* name, const CommandHelp& help);
  void AddWords(Command& command, int max_count);
  void AddJson(Command& command, bool& json);
  void AddTimeout(Command& command);
  void AddAddress(Command& command, std::string& address);
  void AddServiceFlags(Command& command);
  void AddSettings(Command& command);
  void AddPromptOptions(Command& command, RunOptions& options);
  void AddTarget(Command& command, TargetOptions& target);
  void AddInput(Command& command, InputOptions& input);

  // A path the user typed, seen from where the user typed it.
  std::string UserPath(const std::string& path) const;
  std::string Address(const std::string& given) const;
  // Commands that talk to a running gateway unless a model is given.
  absl::Status FinishTarget(const RawOptions& raw, TargetOptions& target) const;
  absl::Status FinishPromptOptions(const RawOptions& raw, RunOptions& options) const;
  // Exactly one kind of input, of `command`.
  absl::Status FinishInput(const char* command, const RawOptions& raw, InputOptions& input) const;

  // command_line.cc
  void AddRun();
  void AddChat();
  void AddUp();
  void AddGenerate();
  void AddTokenize();
  void AddDetokenize();
  void AddInspect();
  void AddPs();
  // input_options.cc
  void AddEmbed();
  void AddClassify();
  void AddScore();
  // bench_options.cc
  void AddBench();
  void AddLoadOptions(Command& command, BenchOptions& options, RawBenchOptions& raw);
  void AddModelBenchOptions(Command& command, BenchOptions& options);
  absl::Status FinishLoad(const Command& command, const RawBenchOptions& raw,
                          BenchOptions& options) const;
  absl::Status FinishModelBench(const RawOptions& raw, BenchOptions& options) const;

  const CommandEnvironment environment_;
  CLI::App app_{"Phyllo serves language models on CPUs.", "phyllo"};
  bool help_ = false;
  bool version_ = false;
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_COMMAND_PARSER_H_
