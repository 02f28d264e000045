#include "services/tokenizer/chat_conversion.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

// Keeps the order of keys, which templates print.
using Json = nlohmann::ordered_json;

// What writes and renders a value recurses with its nesting: a bound keeps a hostile text from the
// end of the stack.
constexpr size_t kMaxJsonDepth = 64;
// An object that keeps the order of its keys looks for a key from end to end, and a parse as often
// as there are keys: a bound keeps a hostile text from hours of it.
constexpr int64_t kMaxJsonKeys = 1024;

// Counts what is open and the keys of each, up to the first error of `text`, if there is one. Not
// by nlohmann's parser: with a callback it looks through the whole list at the end of every object
// in it.
absl::Status CheckJsonBounds(const std::string& field, absl::string_view text) {
  std::vector<int64_t> key_counts;  // of the objects and lists that are open
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
    } else if (c == '{' || c == '[') {
      key_counts.push_back(0);
      if (key_counts.size() > kMaxJsonDepth)
        return InvalidField(field, absl::StrCat("is nested deeper than ", kMaxJsonDepth));
    } else if ((c == '}' || c == ']') && !key_counts.empty()) {
      key_counts.pop_back();
    } else if (c == ':' && !key_counts.empty() && ++key_counts.back() > kMaxJsonKeys) {
      return InvalidField(field,
                          absl::StrCat("has an object of more than ", kMaxJsonKeys, " keys"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> ParseObject(const std::string& field, const std::string& text) {
  PHYLLO_RETURN_IF_ERROR(CheckJsonBounds(field, text));
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return InvalidField(field, "is not a JSON object");
  return value;
}

absl::StatusOr<Json> ConvertMessage(const std::string& field,
                                    const common::v1::ChatMessage& message) {
  if (message.role().empty()) return InvalidField(absl::StrCat(field, ".role"), "is empty");
  Json json = Json::object();
  json["role"] = message.role();
  if (message.has_content()) json["content"] = message.content();
  if (message.has_name()) json["name"] = message.name();
  if (message.has_reasoning_content()) json["reasoning_content"] = message.reasoning_content();
  if (message.has_tool_call_id()) json["tool_call_id"] = message.tool_call_id();
  for (int i = 0; i < message.tool_calls_json_size(); ++i) {
    PHYLLO_ASSIGN_OR_RETURN(Json call, ParseObject(absl::StrCat(field, ".tool_calls_json[", i, "]"),
                                                   message.tool_calls_json(i)));
    json["tool_calls"].push_back(std::move(call));
  }
  return json;
}

// Strings came through protobuf, which accepts only UTF-8, so dump has nothing to throw at;
// replacement makes that independent of it.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

absl::StatusOr<ChatRequest> ConvertChat(const common::v1::Chat& chat, bool parse_special_tokens) {
  if (chat.messages().empty()) return InvalidField("chat.messages", "is empty");
  Json messages = Json::array();
  for (int i = 0; i < chat.messages_size(); ++i) {
    PHYLLO_ASSIGN_OR_RETURN(
        Json message, ConvertMessage(absl::StrCat("chat.messages[", i, "]"), chat.messages(i)));
    messages.push_back(std::move(message));
  }
  ChatRequest request;
  request.messages_json = Dump(messages);
  if (chat.tools_json_size() > 0) {
    Json tools = Json::array();
    for (int i = 0; i < chat.tools_json_size(); ++i) {
      PHYLLO_ASSIGN_OR_RETURN(
          Json tool, ParseObject(absl::StrCat("chat.tools_json[", i, "]"), chat.tools_json(i)));
      tools.push_back(std::move(tool));
    }
    request.tools_json = Dump(tools);
  }
  if (chat.has_template_arguments_json()) {
    PHYLLO_ASSIGN_OR_RETURN(const Json arguments, ParseObject("chat.template_arguments_json",
                                                              chat.template_arguments_json()));
    request.kwargs_json = Dump(arguments);
  }
  request.add_generation_prompt = !chat.has_add_generation_prompt() || chat.add_generation_prompt();
  request.parse_special_tokens_in_content = parse_special_tokens;
  return request;
}

}  // namespace phyllo
