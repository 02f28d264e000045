#include "clients/cli/prompt_text.h"

#include <iterator>

namespace phyllo {

std::string ReadTextArgument(const std::string& argument, Terminal& terminal) {
  if (argument != "-") return argument;
  return std::string(std::istreambuf_iterator<char>(terminal.in), {});
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
