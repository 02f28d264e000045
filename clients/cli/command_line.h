// What the user asked for, from argv.
#ifndef PHYLLO_CLIENTS_CLI_COMMAND_LINE_H_
#define PHYLLO_CLIENTS_CLI_COMMAND_LINE_H_

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/bench/load_options.h"
#include "clients/bench/model/model_bench_options.h"
#include "clients/launcher/service_binaries.h"
#include "phyllo/gateway/v1/gateway.pb.h"

namespace phyllo {

// Where the services are: those behind `address`, else started here for `model`, else started here
// for the demo model.
struct TargetOptions {
  std::string address;  // of a gateway; empty: none given
  std::string model;    // a model folder; empty: none given
  // Further flags of services that are started here.
  std::array<std::vector<std::string>, kServiceKindCount> service_flags;
};

// phyllo run [MODEL] PROMPT
struct RunOptions {
  TargetOptions target;
  std::string prompt;                    // "-": standard input
  bool chat = false;                     // sends the prompt as a user's turn
  std::string system;                    // the system turn of a chat; empty: none
  gateway::v1::GenerateRequest request;  // the parameters
  absl::Duration timeout = absl::InfiniteDuration();
  bool json = false;
};

// phyllo chat [MODEL]
struct ChatOptions {
  TargetOptions target;
  std::string system;
  gateway::v1::GenerateRequest request;
  bool json = false;
};

// phyllo up [MODEL]
struct UpOptions {
  TargetOptions target;  // without an address
  std::string listen;    // of the gateway
  bool json = false;
};

// phyllo generate PROMPT | --ids IDS | --json-lines
struct GenerateOptions {
  RunOptions run;
  std::vector<int32_t> ids;  // the prompt instead of run.prompt
  bool json_lines = false;   // requests on standard input, one a line
  int concurrency = 1;       // requests under way at once, with json_lines
};

// phyllo tokenize TEXT, phyllo detokenize ID...
struct TokenizeOptions {
  TargetOptions target;
  std::string text;  // "-": standard input
  std::vector<int32_t> ids;
  bool detokenize = false;
  bool special_tokens = false;  // tokenize: parses them in the text; detokenize: shows them
  bool add_special_tokens = true;
  bool json = false;
};

// What embed, classify and score read: one of texts, a file, token ids, and requests as JSON.
struct InputOptions {
  std::vector<std::string> texts;  // "-": all of standard input
  std::string file;                // "-": standard input; empty: none
  bool lines = false;              // each line of the file that is not blank is a text
  std::vector<int32_t> ids;        // one input
  bool json_lines = false;         // requests on standard input, one a line
  int concurrency = 1;             // requests under way at once, with json_lines
  absl::Duration timeout = absl::InfiniteDuration();
  bool json = false;
};

// phyllo embed TEXT...
struct EmbedOptions {
  TargetOptions target;
  InputOptions input;
  gateway::v1::EmbedRequest request;  // the parameters
};

// phyllo classify TEXT...
struct ClassifyOptions {
  TargetOptions target;
  InputOptions input;
  gateway::v1::ClassifyRequest request;
};

// phyllo score TEXT
struct ScoreOptions {
  TargetOptions target;
  InputOptions input;  // one input
  gateway::v1::ScoreRequest request;
  bool summary = false;  // the summary only
};

// phyllo inspect [MODEL]
struct InspectOptions {
  std::string model;
  bool all_layers = false;
  bool json = false;
};

// phyllo bench
struct BenchOptions {
  bool serving = false;  // puts a load on `target`
  TargetOptions target;
  LoadOptions load;
  ModelBenchOptions model_bench;  // in this process, unless serving
  bool json = false;
};

// phyllo ps
struct PsOptions {
  std::string address;
  bool json = false;
};

// phyllo --help, phyllo COMMAND --help, phyllo --version: a text to print.
struct HelpOptions {
  std::string text;
};

using CommandLine = std::variant<HelpOptions, RunOptions, ChatOptions, UpOptions, GenerateOptions,
                                 EmbedOptions, ClassifyOptions, ScoreOptions, TokenizeOptions,
                                 InspectOptions, BenchOptions, PsOptions>;

// The gateway that commands talk to when neither --address nor $PHYLLO_ADDRESS names one.
inline constexpr char kDefaultAddress[] = "127.0.0.1:50050";

// What main reads from the environment.
struct CommandEnvironment {
  std::string address;            // $PHYLLO_ADDRESS
  std::string working_directory;  // $BUILD_WORKING_DIRECTORY, where `bazel run` was called; empty:
                                  // the current one
};

// Parses `arguments` (without the program's name). Model paths come back absolute or relative to
// the current folder. INVALID_ARGUMENT with a sentence for people if something is unknown, missing
// or cannot be read.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const CommandEnvironment& environment);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_COMMAND_LINE_H_
