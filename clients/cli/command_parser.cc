#include "clients/cli/command_parser.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/request/request_settings.h"
#include "model/base/exception_barrier.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr char kVersion[] = "phyllo 0.1.0\n";

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

}  // namespace

CommandParser::CommandParser(const CommandEnvironment& environment) : environment_(environment) {
  app_.set_help_flag("");
  app_.add_flag("-h,--help", help_, "shows this help");
  app_.add_flag("--version", version_, "shows the version");
  app_.footer(kMainFooter);
  AddRun();
  AddChat();
  AddUp();
  AddGenerate();
  AddEmbed();
  AddClassify();
  AddScore();
  AddTokenize();
  AddDetokenize();
  AddInspect();
  AddBench();
  AddPs();
}

absl::StatusOr<CommandLine> CommandParser::Parse(std::vector<std::string> arguments) {
  // What follows "--" is words, whatever it looks like.
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> words(mark == arguments.end() ? mark : mark + 1, arguments.end());
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
      "a command is needed: run, chat, up, generate, embed, classify, score, tokenize, "
      "detokenize, inspect, bench or ps");
}

Command& CommandParser::Add(const char* name, const CommandHelp& help) {
  Command& command = *commands_.emplace_back(std::make_unique<Command>());
  command.app = app_.add_subcommand(name, help.summary);
  command.app->set_help_flag("");
  command.app->formatter(std::make_shared<HelpFormatter>(help.usage));
  command.app->footer(help.examples);
  command.app->add_flag("-h,--help", command.help, "shows this help");
  return command;
}

void CommandParser::AddWords(Command& command, int max_count) {
  command.max_word_count = max_count;
  // Parse says what is too many, in words of our own.
  command.app->add_option("words", command.raw.words)->expected(0, 1 << 20)->group("");
}

void CommandParser::AddJson(Command& command, bool& json) {
  command.app->add_flag("--json", json, "writes JSON, one object a line");
}

void CommandParser::AddAddress(Command& command, std::string& address) {
  command.app
      ->add_option("--address", address,
                   absl::StrCat("the gateway: host:port or unix:PATH [$PHYLLO_ADDRESS or ",
                                kDefaultAddress, "]"))
      ->type_name("ADDRESS");
}

void CommandParser::AddServiceFlags(Command& command) {
  const std::string group = "Services started here";
  command.app
      ->add_option("--threads", command.raw.service_flags.threads, "threads of the transformer")
      ->type_name("N")
      ->group(group);
  command.app
      ->add_option("--precision", command.raw.service_flags.precision,
                   "auto, f32, bf16, int8 or int4, of single modules as in int8,lm_head=bf16")
      ->type_name("TYPE[,MODULE=TYPE...]")
      ->group(group);
  command.app
      ->add_option_function<std::string>(
          "--packed-cache",
          [this, &command](const std::string& choice) {
            command.raw.service_flags.packed_cache =
                choice == "auto" || choice == "off" ? choice : UserPath(choice);
          },
          "where packed weights are kept for the next start: auto (beside the model, if it is "
          "large), off or a folder")
      ->type_name("WHERE")
      ->group(group);
  command.app
      ->add_option("--flag", command.raw.service_flags.flags,
                   "any other flag of a service; repeatable")
      ->type_name("SERVICE.NAME=VALUE")
      ->allow_extra_args(false)
      ->group(group);
}

void CommandParser::AddSettings(Command& command) {
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

void CommandParser::AddPromptOptions(Command& command, RunOptions& options) {
  command.app->add_flag("--chat", options.chat,
                        "sends the prompt as a user's turn, in the model's chat format");
  command.app->add_option("--system", options.system, "the system turn of a chat; implies --chat")
      ->type_name("TEXT");
  AddTimeout(command);
  AddJson(command, options.json);
  AddServiceFlags(command);
  AddSettings(command);
}

std::string CommandParser::UserPath(const std::string& path) const {
  if (path.empty() || environment_.working_directory.empty()) return path;
  return (std::filesystem::path(environment_.working_directory) / path).lexically_normal().string();
}

std::string CommandParser::Address(const std::string& given) const {
  if (!given.empty()) return given;
  return environment_.address.empty() ? kDefaultAddress : environment_.address;
}

absl::Status CommandParser::FinishTarget(const RawOptions& raw, TargetOptions& target) const {
  if (!target.model.empty() && !target.address.empty()) {
    return absl::InvalidArgumentError("--address and --model exclude each other");
  }
  target.model = UserPath(target.model);
  if (target.model.empty()) target.address = Address(target.address);
  return ApplyServiceFlags(raw.service_flags, target.service_flags);
}

void CommandParser::AddTarget(Command& command, TargetOptions& target) {
  AddAddress(command, target.address);
  command.app
      ->add_option("--model", target.model, "starts the services for this model folder instead")
      ->type_name("MODEL");
}

absl::Status CommandParser::FinishPromptOptions(const RawOptions& raw, RunOptions& options) const {
  options.chat = options.chat || !options.system.empty();
  PHYLLO_RETURN_IF_ERROR(ParseTime("--timeout", raw.timeout, options.timeout));
  return ApplySettings(raw.settings, options.request);
}

void CommandParser::AddTimeout(Command& command) {
  command.app->add_option("--timeout", command.raw.timeout, "fails after this time, such as 30s")
      ->type_name("TIME");
}

}  // namespace phyllo
