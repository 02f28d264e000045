// The command that measures: bench.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command_help.h"
#include "clients/cli/command_parser.h"
#include "clients/cli/request/argument_values.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

absl::Status ParseLengths(const char* option, const std::string& text,
                          LengthDistribution& lengths) {
  if (text.empty()) return absl::OkStatus();
  absl::StatusOr<LengthDistribution> parsed = LengthDistribution::Parse(text);
  if (!parsed.ok())
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", parsed.status().message()));
  lengths = *std::move(parsed);
  return absl::OkStatus();
}

// INVALID_ARGUMENT if one of the group's options was given.
absl::Status CheckNoneOf(const char* group, const CLI::App& app, const char* instead) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == group && option->count() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("bench: ", option->get_name(), " is for ", instead));
    }
  }
  return absl::OkStatus();
}

// INVALID_ARGUMENT if the option was given as 0, which stands for an option that was not given.
absl::Status CheckNotZero(const CLI::App& app, const char* option, double value) {
  if (value != 0 || app.count(option) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is 0, must be greater"));
}

constexpr char kLoadGroup[] = "Load on a server";
constexpr char kModelGroup[] = "In this process";

}  // namespace

void CommandParser::AddLoadOptions(Command& command, BenchOptions& options, RawBenchOptions& raw) {
  CLI::App& app = *command.app;
  LoadOptions& load = options.load;
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    app.add_option(name, value, help)->type_name(type)->group(kLoadGroup);
  };
  add("--concurrency", load.concurrency,
      "requests under way at once, 1 by default; of an open loop, the most", "N");
  add("--request-rate", load.request_rate, "an open loop: chats that begin in a second", "R");
  add("--num-requests", load.num_requests, "begins no request after so many", "N");
  add("--duration", raw.duration,
      "begins no request after this time; 30s if neither this nor --num-requests is given", "TIME");
  add("--prompt-tokens", raw.prompt_tokens, "tokens of a prompt, 128 by default", "LENGTHS");
  add("--output-tokens", raw.output_tokens, "tokens of an answer, 64 by default", "LENGTHS");
  add("--prompt-file", load.prompt_file, "cuts prompts from this text", "FILE");
  add("--turns", load.turns,
      "requests of a chat; each prompt is the chat so far and --prompt-tokens more", "N");
  add("--shared-prefix-tokens", load.shared_prefix_tokens,
      "tokens that all chats begin with, before --prompt-tokens", "N");
  add("--load-seed", load.seed, "of the random numbers: lengths, ids and times", "N");
  app.add_flag_callback(
         "--no-prefix-cache",
         [&load] { load.request.mutable_context()->set_use_prefix_cache(false); },
         "asks the server to reuse nothing of other prompts")
      ->group(kLoadGroup);
  app.add_option("--timeout", command.raw.timeout, "a request fails after this time, such as 30s")
      ->type_name("TIME")
      ->group(kLoadGroup);
}

void CommandParser::AddModelBenchOptions(Command& command, BenchOptions& options) {
  CLI::App& app = *command.app;
  ModelBenchOptions& bench = options.model_bench;
  const auto add = [&app](const char* name, auto& value, const char* help, const char* type) {
    return app.add_option(name, value, help)->type_name(type)->group(kModelGroup);
  };
  add("-p,--prefill", bench.prompt_tokens, "tokens of a prompt, 512 by default; 0: no prefill",
      "N,...")
      ->delimiter(',');
  add("-n,--decode", bench.new_tokens, "decode steps, 128 by default; 0: no decode", "N,...")
      ->delimiter(',');
  add("-b,--batch", bench.batches, "sequences decoded together, 1 by default", "N,...")
      ->delimiter(',');
  add("-r,--repetitions", bench.repetitions, "how often each is measured, 3 by default", "N");
  add("--depth", bench.depth, "tokens in the KV cache before a decode begins, 0 by default", "N");
  add("--chunk", bench.chunk, "most prompt tokens of one step, 512 by default", "N");
  app.add_flag("--bound", bench.bound,
               "measures the matrix products of each step by themselves as well; takes the memory "
               "of the weights twice")
      ->group(kModelGroup);
}

absl::Status CommandParser::FinishLoad(const Command& command, const RawBenchOptions& raw,
                                       BenchOptions& options) const {
  LoadOptions& load = options.load;
  const CLI::App& app = *command.app;
  PHYLLO_RETURN_IF_ERROR(CheckNotZero(app, "--concurrency", static_cast<double>(load.concurrency)));
  PHYLLO_RETURN_IF_ERROR(CheckNotZero(app, "--request-rate", load.request_rate));
  PHYLLO_RETURN_IF_ERROR(
      CheckNotZero(app, "--num-requests", static_cast<double>(load.num_requests)));
  PHYLLO_RETURN_IF_ERROR(ParseLengths("--prompt-tokens", raw.prompt_tokens, load.prompt_tokens));
  PHYLLO_RETURN_IF_ERROR(ParseLengths("--output-tokens", raw.output_tokens, load.output_tokens));
  PHYLLO_RETURN_IF_ERROR(ParseTime("--duration", raw.duration, load.duration));
  PHYLLO_RETURN_IF_ERROR(ParseTime("--timeout", command.raw.timeout, load.timeout));
  PHYLLO_RETURN_IF_ERROR(ApplySettings(command.raw.settings, load.request));
  load.prompt_file = UserPath(load.prompt_file);
  PHYLLO_RETURN_IF_ERROR(FinishTarget(command.raw, options.target));
  return FinishLoadOptions(load);
}

absl::Status CommandParser::FinishModelBench(const RawOptions& raw, BenchOptions& options) const {
  ModelBenchOptions& bench = options.model_bench;
  const ServiceFlagTexts& flags = raw.service_flags;
  if (!flags.flags.empty())
    return absl::InvalidArgumentError("bench: --flag is for services; use it with --serve");
  if (!flags.packed_cache.empty())
    return absl::InvalidArgumentError("bench: --packed-cache is for services; use it with --serve");
  if (!raw.settings.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("bench: --", raw.settings.front().first,
                                                   " is for a server: give --address or --serve"));
  }
  if (!flags.threads.empty() && !absl::SimpleAtoi(flags.threads, &bench.threads))
    return absl::InvalidArgumentError(
        absl::StrCat("--threads: \"", flags.threads, "\" is no number"));
  if (!flags.precision.empty()) bench.precision = flags.precision;
  bench.model = UserPath(options.target.model);
  return CheckModelBenchOptions(bench);
}

void CommandParser::AddBench() {
  Command& command = Add("bench", kBenchHelp);
  const auto options = std::make_shared<BenchOptions>();
  const auto raw = std::make_shared<RawBenchOptions>();
  AddWords(command, 0);
  command.app
      ->add_option("--address", options->target.address,
                   "the gateway to put a load on: host:port or unix:PATH")
      ->type_name("ADDRESS");
  command.app->add_flag("--serve", options->serving,
                        absl::StrCat("puts a load on services that are started for --model, else "
                                     "on the gateway at $PHYLLO_ADDRESS or ",
                                     kDefaultAddress));
  command.app->add_option("--model", options->target.model, "a model folder")->type_name("MODEL");
  AddJson(command, options->json);
  AddLoadOptions(command, *options, *raw);
  AddModelBenchOptions(command, *options);
  AddServiceFlags(command);
  AddSettings(command);
  command.finish = [=, this, &command]() -> absl::StatusOr<CommandLine> {
    options->serving = options->serving || !options->target.address.empty();
    if (options->serving) {
      PHYLLO_RETURN_IF_ERROR(
          CheckNoneOf(kModelGroup, *command.app, "a model in this process, not for a server"));
      PHYLLO_RETURN_IF_ERROR(FinishLoad(command, *raw, *options));
    } else {
      PHYLLO_RETURN_IF_ERROR(
          CheckNoneOf(kLoadGroup, *command.app, "a server: give --address or --serve"));
      PHYLLO_RETURN_IF_ERROR(FinishModelBench(command.raw, *options));
    }
    return *options;
  };
}

}  // namespace phyllo
