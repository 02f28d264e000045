// The commands that read texts and give numbers: embed, classify, score.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command_help.h"
#include "clients/cli/command_parser.h"
#include "clients/cli/request/argument_values.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

absl::Status ParsePooling(const std::string& text, gateway::v1::EmbedRequest& request) {
  const std::map<std::string, common::v1::Pooling> poolings = {{"last", common::v1::POOLING_LAST},
                                                               {"mean", common::v1::POOLING_MEAN},
                                                               {"cls", common::v1::POOLING_CLS}};
  if (text.empty()) return absl::OkStatus();
  const auto found = poolings.find(text);
  if (found == poolings.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pooling is \"", text, "\", must be last, mean or cls"));
  }
  request.set_pooling(found->second);
  return absl::OkStatus();
}

}  // namespace

void CommandParser::AddInput(Command& command, InputOptions& input) {
  command.app
      ->add_option("--file", input.file, "reads the text from this file; \"-\": standard input")
      ->type_name("FILE");
  command.app->add_flag("--lines", input.lines, "every line of FILE that is not blank is a text");
  command.app->add_option("--ids", command.raw.ids, "the input as token ids: 1,2,3")
      ->type_name("IDS");
  command.app->add_flag("--json-lines", input.json_lines,
                        "reads a request as JSON from each line of standard input");
  command.app
      ->add_option("--concurrency", input.concurrency,
                   "requests under way at once, with --json-lines")
      ->type_name("N");
  AddTimeout(command);
  AddJson(command, input.json);
}

absl::Status CommandParser::FinishInput(const char* command, const RawOptions& raw,
                                        InputOptions& input) const {
  input.texts = raw.words;
  PHYLLO_RETURN_IF_ERROR(ParseIds(raw.ids, input.ids));
  const int kinds = (input.texts.empty() ? 0 : 1) + (input.file.empty() ? 0 : 1) +
                    (input.ids.empty() ? 0 : 1) + (input.json_lines ? 1 : 0);
  if (kinds != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        command,
        ": exactly one of TEXT, --file, --ids and --json-lines is needed; TEXT \"-\" reads "
        "standard input"));
  }
  if (input.lines && input.file.empty())
    return absl::InvalidArgumentError("--lines needs --file; \"--file -\" is standard input");
  if (input.concurrency < 1 || input.concurrency > 256)
    return absl::InvalidArgumentError("--concurrency must be in [1, 256]");
  if (input.file != "-") input.file = UserPath(input.file);
  return ParseTime("--timeout", raw.timeout, input.timeout);
}

void CommandParser::AddEmbed() {
  Command& command = Add("embed", kEmbedHelp);
  const auto options = std::make_shared<EmbedOptions>();
  const auto pooling = std::make_shared<std::string>();
  const auto dimensions = std::make_shared<std::optional<int32_t>>();
  AddWords(command, 1 << 20);
  AddTarget(command, options->target);
  AddInput(command, options->input);
  command.app
      ->add_option("--pooling", *pooling, "which vector stands for a text: last, mean or cls")
      ->type_name("POOLING");
  command.app->add_option("--dimensions", *dimensions, "keeps this many leading dimensions")
      ->type_name("N");
  command.app->add_flag_callback(
      "--no-normalize", [options] { options->request.set_normalize(false); },
      "leaves the vectors at their length");
  command.app->add_flag_callback(
      "--no-added-tokens", [options] { options->request.set_add_special_tokens(false); },
      "leaves out the tokens that the tokenizer adds at the ends");
  AddServiceFlags(command);
  command.finish = [=, this, &command]() -> absl::StatusOr<CommandLine> {
    PHYLLO_RETURN_IF_ERROR(FinishInput("embed", command.raw, options->input));
    PHYLLO_RETURN_IF_ERROR(FinishTarget(command.raw, options->target));
    PHYLLO_RETURN_IF_ERROR(ParsePooling(*pooling, options->request));
    if (dimensions->has_value()) options->request.set_dimensions(**dimensions);
    return *options;
  };
}

void CommandParser::AddClassify() {
  Command& command = Add("classify", kClassifyHelp);
  const auto options = std::make_shared<ClassifyOptions>();
  AddWords(command, 1 << 20);
  AddTarget(command, options->target);
  AddInput(command, options->input);
  command.app->add_flag_callback(
      "--raw-logits", [options] { options->request.set_raw_logits(true); },
      "shows logits instead of probabilities");
  command.app->add_flag_callback(
      "--no-added-tokens", [options] { options->request.set_add_special_tokens(false); },
      "leaves out the tokens that the tokenizer adds at the ends");
  AddServiceFlags(command);
  command.finish = [=, this, &command]() -> absl::StatusOr<CommandLine> {
    PHYLLO_RETURN_IF_ERROR(FinishInput("classify", command.raw, options->input));
    PHYLLO_RETURN_IF_ERROR(FinishTarget(command.raw, options->target));
    return *options;
  };
}

void CommandParser::AddScore() {
  Command& command = Add("score", kScoreHelp);
  const auto options = std::make_shared<ScoreOptions>();
  const auto continuation = std::make_shared<std::string>();
  const auto top_count = std::make_shared<int32_t>(0);
  AddWords(command, 1);
  AddTarget(command, options->target);
  AddInput(command, options->input);
  command.app
      ->add_option("--continuation", *continuation,
                   "scores the tokens of this text after TEXT, not those of TEXT")
      ->type_name("TEXT");
  command.app
      ->add_option("--top", *top_count, "shows the N most likely tokens at each position as well")
      ->type_name("N");
  command.app->add_flag("--summary", options->summary,
                        "shows the sum and the perplexity only, not every token");
  AddServiceFlags(command);
  command.finish = [=, this, &command]() -> absl::StatusOr<CommandLine> {
    PHYLLO_RETURN_IF_ERROR(FinishInput("score", command.raw, options->input));
    if (options->input.lines)
      return absl::InvalidArgumentError("score: --lines is for embed and classify");
    PHYLLO_RETURN_IF_ERROR(FinishTarget(command.raw, options->target));
    if (!continuation->empty()) options->request.set_continuation(*continuation);
    if (*top_count != 0) options->request.mutable_logprobs()->set_top_count(*top_count);
    return *options;
  };
}

}  // namespace phyllo
