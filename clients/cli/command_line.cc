// CLI11 reports errors by exceptions, which end in ParseArguments. Nothing is marked as required
// there, so that --help is seen before anything is missed; Finish* functions check what is needed.
#include "clients/cli/command_line.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/command_help.h"
#include "clients/cli/request/argument_values.h"
#include "clients/cli/request/request_settings.h"
#include "model/base/exception_barrier.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr char kVersion[] = "phyllo 0.1.0\n";

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

// CLI11's help with our own words on top.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(const char* usage) : usage_(usage) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return absl::StrCat(usage_, "\n");
  }

 private:
  const char* const usage_;
};

// Builds the subcommands; owns everything the parser writes to.
class Parser {
 public:
  explicit Parser(const CommandEnvironment& environment) : environment_(environment) {
    app_.set_help_flag("");
    app_.add_flag("-h,--help", help_, "shows this help");
    app_.add_flag("--version", version_, "shows the version");
    app_.footer(kMainFooter);
    AddRun();
    AddChat();
    AddUp();
    AddGenerate();
    AddTokenize();
    AddDetokenize();
    AddInspect();
    AddPs();
  }

  absl::StatusOr<CommandLine> Parse(std::vector<std::string> arguments) {
    // What follows "--" is words, whatever it looks like.
    const auto mark = std::find(arguments.begin(), arguments.end(), "--");
    const std::vector<std::string> words(mark == arguments.end() ? mark : mark + 1,
                                         arguments.end());
    arguments.erase(mark, arguments.end());
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants them.
    const absl::Status parsed = CatchExceptions("", [&] { app_.parse(arguments); });
    if (!parsed.ok()) return absl::InvalidArgumentError(absl::StripPrefix(parsed.message(), ": "));
    if (help_) return HelpOptions{app_.help()};
    if (version_) return HelpOptions{kVersion};
    for (const std::unique_ptr<Command>& command : commands_) {
      if (!command->app->parsed()) continue;
      if (command->help) return HelpOptions{command->app->help()};
      std::vector<std::string>& all_words = command->raw.words;
      all_words.insert(all_words.end(), words.begin(), words.end());
      if (all_words.size() > command->max_word_count) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", all_words[command->max_word_count], "\" is one argument too many"));
      }
      return command->finish();
    }
    return absl::InvalidArgumentError(
        "a command is needed: run, chat, up, generate, tokenize, detokenize, inspect or ps");
  }

 private:
  Command& Add(const char* name, const CommandHelp& help) {
    Command& command = *commands_.emplace_back(std::make_unique<Command>());
    command.app = app_.add_subcommand(name, help.summary);
    command.app->set_help_flag("");
    command.app->formatter(std::make_shared<HelpFormatter>(help.usage));
    command.app->footer(help.examples);
    command.app->add_flag("-h,--help", command.help, "shows this help");
    return command;
  }

  void AddWords(Command& command, int max_count) {
    command.max_word_count = max_count;
    command.app->add_option("words", command.raw.words)->expected(0, max_count)->group("");
  }

  void AddJson(Command& command, bool& json) {
    command.app->add_flag("--json", json, "writes JSON, one object a line");
  }

  void AddAddress(Command& command, std::string& address) {
    command.app
        ->add_option("--address", address,
                     absl::StrCat("the gateway: host:port or unix:PATH [$PHYLLO_ADDRESS or ",
                                  kDefaultAddress, "]"))
        ->type_name("ADDRESS");
  }

  void AddServiceFlags(Command& command) {
    const std::string group = "Services started here";
    command.app
        ->add_option("--threads", command.raw.service_flags.threads, "threads of the transformer")
        ->type_name("N")
        ->group(group);
    command.app->add_option("--precision", command.raw.service_flags.precision, "f32 or bf16")
        ->type_name("TYPE")
        ->group(group);
    command.app
        ->add_option("--flag", command.raw.service_flags.flags,
                     "any other flag of a service; repeatable")
        ->type_name("SERVICE.NAME=VALUE")
        ->allow_extra_args(false)
        ->group(group);
  }

  void AddSettings(Command& command) {
    for (const RequestSetting& setting : RequestSettings()) {
      const std::string name(setting.name);
      const std::string flag = absl::StrCat("--", name);
      auto& settings = command.raw.settings;
      if (setting.value_name == "BOOL") {
        const auto set = [&settings, name](int64_t count) {
          settings.emplace_back(name, count > 0 ? "true" : "false");
        };
        command.app->add_flag_function(flag, set, std::string(setting.help))->group("Generation");
        continue;
      }
      const std::function<void(const std::vector<std::string>&)> add =
          [&settings, name](const std::vector<std::string>& values) {
            for (const std::string& value : values) settings.emplace_back(name, value);
          };
      command.app->add_option_function(flag, add, std::string(setting.help))
          ->type_name(std::string(setting.value_name))
          ->allow_extra_args(false)
          ->group("Generation");
    }
  }

  void AddPromptOptions(Command& command, RunOptions& options) {
    command.app->add_flag("--chat", options.chat,
                          "sends the prompt as a user's turn, in the model's chat format");
    command.app->add_option("--system", options.system, "the system turn of a chat; implies --chat")
        ->type_name("TEXT");
    command.app->add_option("--timeout", command.raw.timeout, "fails after this time, such as 30s")
        ->type_name("TIME");
    AddJson(command, options.json);
    AddServiceFlags(command);
    AddSettings(command);
  }

  // A path the user typed, seen from where the user typed it.
  std::string ModelPath(const std::string& path) const {
    if (path.empty() || environment_.working_directory.empty()) return path;
    return (std::filesystem::path(environment_.working_directory) / path)
        .lexically_normal()
        .string();
  }

  std::string Address(const std::string& given) const {
    if (!given.empty()) return given;
    return environment_.address.empty() ? kDefaultAddress : environment_.address;
  }

  // Commands that talk to a running gateway unless a model is given.
  absl::Status FinishTarget(const RawOptions& raw, TargetOptions& target) const {
    if (!target.model.empty() && !target.address.empty()) {
      return absl::InvalidArgumentError("--address and --model exclude each other");
    }
    target.model = ModelPath(target.model);
    if (target.model.empty()) target.address = Address(target.address);
    return ApplyServiceFlags(raw.service_flags, target.service_flags);
  }

  void AddTarget(Command& command, TargetOptions& target) {
    AddAddress(command, target.address);
    command.app
        ->add_option("--model", target.model, "starts the services for this model folder instead")
        ->type_name("MODEL");
  }

  absl::Status FinishPromptOptions(const RawOptions& raw, RunOptions& options) const {
    options.chat = options.chat || !options.system.empty();
    PHYLLO_RETURN_IF_ERROR(ParseTimeout(raw.timeout, options.timeout));
    return ApplySettings(raw.settings, options.request);
  }

  void AddRun();
  void AddChat();
  void AddUp();
  void AddGenerate();
  void AddTokenize();
  void AddDetokenize();
  void AddInspect();
  void AddPs();

  const CommandEnvironment environment_;
  CLI::App app_{"Phyllo serves language models on CPUs.", "phyllo"};
  bool help_ = false;
  bool version_ = false;
  std::vector<std::unique_ptr<Command>> commands_;
};

void Parser::AddRun() {
  Command& command = Add("run", kRunHelp);
  const auto options = std::make_shared<RunOptions>();
  AddWords(command, 2);
  AddPromptOptions(command, *options);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    const std::vector<std::string>& words = command.raw.words;
    if (words.empty())
      return absl::InvalidArgumentError(
          "run: a prompt is needed; \"-\" reads it from standard input");
    options->prompt = words.back();
    if (words.size() == 2) options->target.model = ModelPath(words.front());
    PHYLLO_RETURN_IF_ERROR(
        ApplyServiceFlags(command.raw.service_flags, options->target.service_flags));
    PHYLLO_RETURN_IF_ERROR(FinishPromptOptions(command.raw, *options));
    return *options;
  };
}

void Parser::AddChat() {
  Command& command = Add("chat", kChatHelp);
  const auto options = std::make_shared<ChatOptions>();
  AddWords(command, 1);
  command.app
      ->add_option("--address", options->target.address,
                   "a running gateway instead of services started here")
      ->type_name("ADDRESS");
  command.app->add_option("--system", options->system, "the system turn")->type_name("TEXT");
  AddJson(command, options->json);
  AddServiceFlags(command);
  AddSettings(command);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    if (!command.raw.words.empty()) options->target.model = ModelPath(command.raw.words.front());
    if (!options->target.model.empty() && !options->target.address.empty()) {
      return absl::InvalidArgumentError("chat: MODEL and --address exclude each other");
    }
    PHYLLO_RETURN_IF_ERROR(
        ApplyServiceFlags(command.raw.service_flags, options->target.service_flags));
    PHYLLO_RETURN_IF_ERROR(ApplySettings(command.raw.settings, options->request));
    return *options;
  };
}

void Parser::AddUp() {
  Command& command = Add("up", kUpHelp);
  const auto options = std::make_shared<UpOptions>();
  options->listen = kDefaultAddress;
  AddWords(command, 1);
  command.app
      ->add_option("--address", options->listen,
                   "where the gateway listens; port 0 takes a free one")
      ->type_name("ADDRESS")
      ->capture_default_str();
  AddJson(command, options->json);
  AddServiceFlags(command);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    if (!command.raw.words.empty()) options->target.model = ModelPath(command.raw.words.front());
    PHYLLO_RETURN_IF_ERROR(
        ApplyServiceFlags(command.raw.service_flags, options->target.service_flags));
    return *options;
  };
}

void Parser::AddGenerate() {
  Command& command = Add("generate", kGenerateHelp);
  const auto options = std::make_shared<GenerateOptions>();
  AddWords(command, 1);
  AddTarget(command, options->run.target);
  command.app->add_option("--ids", command.raw.ids, "the prompt as token ids: 1,2,3")
      ->type_name("IDS");
  command.app->add_flag("--json-lines", options->json_lines,
                        "reads a GenerateRequest as JSON from each line of standard input");
  command.app
      ->add_option("--concurrency", options->concurrency,
                   "requests under way at once, with --json-lines")
      ->type_name("N");
  AddPromptOptions(command, options->run);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    PHYLLO_RETURN_IF_ERROR(ParseIds(command.raw.ids, options->ids));
    const int prompt_count = static_cast<int>(command.raw.words.size()) +
                             (options->ids.empty() ? 0 : 1) + (options->json_lines ? 1 : 0);
    if (prompt_count != 1)
      return absl::InvalidArgumentError(
          "generate: exactly one of PROMPT, --ids and --json-lines is needed");
    if (options->concurrency < 1 || options->concurrency > 256)
      return absl::InvalidArgumentError("--concurrency must be in [1, 256]");
    if (!command.raw.words.empty()) options->run.prompt = command.raw.words.front();
    PHYLLO_RETURN_IF_ERROR(FinishTarget(command.raw, options->run.target));
    PHYLLO_RETURN_IF_ERROR(FinishPromptOptions(command.raw, options->run));
    return *options;
  };
}

void Parser::AddTokenize() {
  Command& command = Add("tokenize", kTokenizeHelp);
  const auto options = std::make_shared<TokenizeOptions>();
  AddWords(command, 1);
  AddTarget(command, options->target);
  command.app->add_flag("--special-tokens", options->special_tokens,
                        "reads control tokens spelled in the text as such");
  command.app->add_flag("!--no-added-tokens", options->add_special_tokens,
                        "leaves out the tokens that the tokenizer adds at the ends");
  AddJson(command, options->json);
  AddServiceFlags(command);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    if (command.raw.words.empty())
      return absl::InvalidArgumentError(
          "tokenize: a text is needed; \"-\" reads it from standard input");
    options->text = command.raw.words.front();
    PHYLLO_RETURN_IF_ERROR(FinishTarget(command.raw, options->target));
    return *options;
  };
}

void Parser::AddDetokenize() {
  Command& command = Add("detokenize", kDetokenizeHelp);
  const auto options = std::make_shared<TokenizeOptions>();
  options->detokenize = true;
  AddWords(command, 1 << 20);
  AddTarget(command, options->target);
  command.app->add_flag("--special-tokens", options->special_tokens, "shows control tokens");
  AddJson(command, options->json);
  AddServiceFlags(command);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    for (const std::string& word : command.raw.words)
      PHYLLO_RETURN_IF_ERROR(ParseIds(word, options->ids));
    if (options->ids.empty()) return absl::InvalidArgumentError("detokenize: token ids are needed");
    PHYLLO_RETURN_IF_ERROR(FinishTarget(command.raw, options->target));
    return *options;
  };
}

void Parser::AddInspect() {
  Command& command = Add("inspect", kInspectHelp);
  const auto options = std::make_shared<InspectOptions>();
  AddWords(command, 1);
  command.app->add_flag("--all-layers", options->all_layers, "shows equal layers one by one");
  AddJson(command, options->json);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    if (!command.raw.words.empty()) options->model = ModelPath(command.raw.words.front());
    return *options;
  };
}

void Parser::AddPs() {
  Command& command = Add("ps", kPsHelp);
  const auto options = std::make_shared<PsOptions>();
  AddAddress(command, options->address);
  AddJson(command, options->json);
  command.finish = [this, options]() -> absl::StatusOr<CommandLine> {
    options->address = Address(options->address);
    return *options;
  };
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const CommandEnvironment& environment) {
  return Parser(environment).Parse(arguments);
}

}  // namespace phyllo
