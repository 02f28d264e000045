#include "clients/cli/command_line.h"

#include <memory>

#include "absl/status/status.h"
#include "clients/cli/command_help.h"
#include "clients/cli/command_parser.h"
#include "clients/cli/request/argument_values.h"
#include "model/base/status_macros.h"

namespace phyllo {

void CommandParser::AddRun() {
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
    if (words.size() == 2) options->target.model = UserPath(words.front());
    PHYLLO_RETURN_IF_ERROR(
        ApplyServiceFlags(command.raw.service_flags, options->target.service_flags));
    PHYLLO_RETURN_IF_ERROR(FinishPromptOptions(command.raw, *options));
    return *options;
  };
}

void CommandParser::AddChat() {
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
    if (!command.raw.words.empty()) options->target.model = UserPath(command.raw.words.front());
    if (!options->target.model.empty() && !options->target.address.empty()) {
      return absl::InvalidArgumentError("chat: MODEL and --address exclude each other");
    }
    PHYLLO_RETURN_IF_ERROR(
        ApplyServiceFlags(command.raw.service_flags, options->target.service_flags));
    PHYLLO_RETURN_IF_ERROR(ApplySettings(command.raw.settings, options->request));
    return *options;
  };
}

void CommandParser::AddUp() {
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
    if (!command.raw.words.empty()) options->target.model = UserPath(command.raw.words.front());
    PHYLLO_RETURN_IF_ERROR(
        ApplyServiceFlags(command.raw.service_flags, options->target.service_flags));
    return *options;
  };
}

void CommandParser::AddGenerate() {
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

void CommandParser::AddTokenize() {
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

void CommandParser::AddDetokenize() {
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

void CommandParser::AddInspect() {
  Command& command = Add("inspect", kInspectHelp);
  const auto options = std::make_shared<InspectOptions>();
  AddWords(command, 1);
  command.app->add_flag("--all-layers", options->all_layers, "shows equal layers one by one");
  AddJson(command, options->json);
  command.finish = [this, &command, options]() -> absl::StatusOr<CommandLine> {
    if (!command.raw.words.empty()) options->model = UserPath(command.raw.words.front());
    return *options;
  };
}

void CommandParser::AddPs() {
  Command& command = Add("ps", kPsHelp);
  const auto options = std::make_shared<PsOptions>();
  AddAddress(command, options->address);
  AddJson(command, options->json);
  command.finish = [this, options]() -> absl::StatusOr<CommandLine> {
    options->address = Address(options->address);
    return *options;
  };
}

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const CommandEnvironment& environment) {
  return CommandParser(environment).Parse(arguments);
}

}  // namespace phyllo
