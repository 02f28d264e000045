#include "clients/cli/inputs/prompt_text.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace phyllo {

std::string ReadTextArgument(const std::string& argument, Terminal& terminal) {
  if (argument != "-") return argument;
  return std::string(std::istreambuf_iterator<char>(terminal.in), {});
}

absl::StatusOr<std::vector<std::string>> ReadTexts(const InputOptions& input, Terminal& terminal) {
  std::vector<std::string> texts;
  if (input.file.empty()) {
    for (const std::string& text : input.texts) texts.push_back(ReadTextArgument(text, terminal));
    return texts;
  }
  std::ifstream file;
  if (input.file != "-") {
    file.open(input.file, std::ios::binary);
    if (!file.is_open())
      return absl::NotFoundError(absl::StrCat("cannot open the file \"", input.file, "\""));
  }
  std::istream& stream = input.file == "-" ? terminal.in : file;
  if (!input.lines) {
    texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    return texts;
  }
  for (std::string line; std::getline(stream, line);) {
    if (!absl::StripAsciiWhitespace(line).empty()) texts.push_back(std::move(line));
  }
  if (texts.empty()) return absl::InvalidArgumentError("--lines: no line is a text");
  return texts;
}

gateway::v1::GenerateRequest MakeRequest(const RunOptions& options, const std::string& text) {
  gateway::v1::GenerateRequest request = options.request;
  if (!options.chat) {
    request.set_text(text);
    return request;
  }
  if (!options.system.empty()) {
    common::v1::ChatMessage& system = *request.mutable_chat()->add_messages();
    system.set_role("system");
    system.set_content(options.system);
  }
  common::v1::ChatMessage& user = *request.mutable_chat()->add_messages();
  user.set_role("user");
  user.set_content(text);
  return request;
}

}  // namespace phyllo
