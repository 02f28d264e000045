// How the parts of a prompt are told apart:
// 1. The conversation is rendered as it is. This text is the result, whenever the steps below can
// vouch for it.
// 2. It is rendered again with marks around the strings of the request. If the marks come out in
// pairs and the text is otherwise
//    the same, they tell exactly what is data.
// 3. Otherwise the template looked into a string (qwen3 splits at </think>). If no string spells a
// guarded token, none can become
//    one, and the text is tokenized as a whole.
// 4. Otherwise it is rendered with a mark inside every guarded spelling. The template then takes
// such a spelling for ordinary text,
//    as it should; the text without marks is the result, and the broken spellings are its data.
#include "model/tokenizer/chat_template.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/content_marks.h"
#include "model/tokenizer/jinja_template.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxJsonDepth = 64;  // Rendering is recursive.
constexpr size_t kMaxRoleBytes = 64;

absl::Status CheckDepth(const Json& value, absl::string_view name, int depth = 0) {
  if (depth > kMaxJsonDepth) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is nested deeper than ", kMaxJsonDepth));
  }
  if (!value.is_structured()) return absl::OkStatus();
  for (const Json& item : value) PHYLLO_RETURN_IF_ERROR(CheckDepth(item, name, depth + 1));
  return absl::OkStatus();
}

// Parses `text`; null if it is empty.
absl::StatusOr<Json> ParseField(absl::string_view text, absl::string_view name) {
  if (text.empty()) return Json();
  Json value = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded())
    return absl::InvalidArgumentError(absl::StrCat(name, " is not valid JSON"));
  PHYLLO_RETURN_IF_ERROR(CheckDepth(value, name));
  return value;
}

// A role may be made part of a control token by the template (<|user|>), so it must be a plain
// word.
absl::Status CheckRole(const Json& message, size_t index) {
  const std::string where = absl::StrCat("messages[", index, "]");
  if (!message.is_object())
    return absl::InvalidArgumentError(absl::StrCat(where, " must be an object"));
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ".role must be a string"));
  }
  const absl::string_view name = role->get_ref<const std::string&>();
  bool plain = !name.empty() && name.size() <= kMaxRoleBytes;
  for (const char c : name)
    plain = plain && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-');
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ".role must be 1 to ", kMaxRoleBytes, " letters, digits, '_' or '-'"));
}

void SetIfNamed(absl::string_view token, const char* name, Json* variables) {
  if (!token.empty()) (*variables)[name] = std::string(token);
}

bool IsReservedVariable(absl::string_view name) {
  return IsTrustedVariable(name) || name == "messages" || name == "tools" ||
         name == "add_generation_prompt";
}

// The variables of the template, as transformers names them.
absl::StatusOr<Json> MakeVariables(const ChatRequest& request, const TokenizerConfig& config) {
  PHYLLO_ASSIGN_OR_RETURN(Json messages, ParseField(request.messages_json, "messages"));
  PHYLLO_ASSIGN_OR_RETURN(Json tools, ParseField(request.tools_json, "tools"));
  PHYLLO_ASSIGN_OR_RETURN(const Json kwargs, ParseField(request.kwargs_json, "template arguments"));
  if (!messages.is_array() || messages.empty())
    return absl::InvalidArgumentError("messages must be an array, not empty");
  for (size_t i = 0; i < messages.size(); ++i) PHYLLO_RETURN_IF_ERROR(CheckRole(messages[i], i));
  if (!tools.is_null() && !tools.is_array())
    return absl::InvalidArgumentError("tools must be an array");
  if (!kwargs.is_null() && !kwargs.is_object())
    return absl::InvalidArgumentError("template arguments must be an object");
  Json variables = Json::object();
  SetIfNamed(config.bos_token, "bos_token", &variables);
  SetIfNamed(config.eos_token, "eos_token", &variables);
  SetIfNamed(config.unk_token, "unk_token", &variables);
  SetIfNamed(config.pad_token, "pad_token", &variables);
  if (kwargs.is_object()) {
    for (auto member = kwargs.begin(); member != kwargs.end(); ++member) {
      if (IsReservedVariable(member.key())) {
        return absl::InvalidArgumentError(
            "template arguments must not redefine a message field or a token of the model");
      }
      variables[member.key()] = *member;
    }
  }
  variables["messages"] = std::move(messages);
  variables["tools"] = std::move(tools);
  variables["add_generation_prompt"] = request.add_generation_prompt;
  return variables;
}

GuardedTokens CollectGuarded(const Tokenizer& tokenizer) {
  GuardedTokens tokens;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const absl::optional<TokenInfo> info = tokenizer.FindToken(id);
    if (!info.has_value() || !info->added) continue;
    if (info->control) {
      tokens.control.Insert(info->token, id);
    } else if (absl::StrContains(tokenizer.config().chat_template, info->token)) {
      tokens.spelled.Insert(info->token, id);
    }
  }
  return tokens;
}

std::vector<PromptSegment> MakeSegments(absl::string_view text,
                                        absl::Span<const LiteralRange> ranges) {
  std::vector<PromptSegment> segments;
  const auto append = [&](PromptSegment::Kind kind, int64_t begin, int64_t end) {
    if (begin < end) segments.push_back({kind, std::string(text.substr(begin, end - begin))});
  };
  int64_t at = 0;
  for (const LiteralRange& range : ranges) {
    append(PromptSegment::Kind::kControl, at, range.bytes.begin);
    append(PromptSegment::Kind::kData, range.bytes.begin, range.bytes.end);
    at = range.bytes.end;
  }
  append(PromptSegment::Kind::kControl, at, static_cast<int64_t>(text.size()));
  return segments;
}

}  // namespace

struct ChatTemplate::Parts {
  std::unique_ptr<JinjaTemplate> jinja;
  GuardedTokens guarded;

  // Renders `variables` and tells data from control.
  absl::StatusOr<UnmarkedText> RenderMarked(const Json& variables, absl::string_view source) const;
};

absl::StatusOr<UnmarkedText> ChatTemplate::Parts::RenderMarked(const Json& variables,
                                                               absl::string_view source) const {
  PHYLLO_ASSIGN_OR_RETURN(std::string plain, jinja->Render(variables));
  PHYLLO_ASSIGN_OR_RETURN(const ContentMarks marks, ContentMarks::Choose(variables, source));
  Json marked = variables;
  marks.MarkStrings(guarded, &marked);
  const absl::StatusOr<std::string> with_marks = jinja->Render(marked);
  if (with_marks.ok()) {
    absl::optional<UnmarkedText> unmarked = marks.RemoveStringMarks(*with_marks);
    if (unmarked.has_value() && unmarked->text == plain) return *std::move(unmarked);
  }
  if (!HoldsGuarded(guarded, variables)) return UnmarkedText{std::move(plain), {}};
  Json broken = variables;
  marks.BreakGuarded(guarded, &broken);
  PHYLLO_ASSIGN_OR_RETURN(const std::string with_breaks, jinja->Render(broken));
  return marks.RemoveBreaks(guarded, with_breaks);
}

ChatTemplate::ChatTemplate(const Tokenizer& tokenizer, std::unique_ptr<Parts> parts)
    : tokenizer_(tokenizer), parts_(std::move(parts)) {}
ChatTemplate::~ChatTemplate() = default;

absl::StatusOr<std::unique_ptr<ChatTemplate>> ChatTemplate::Create(const Tokenizer& tokenizer) {
  const std::string& source = tokenizer.config().chat_template;
  if (source.empty()) return absl::FailedPreconditionError("the model has no chat template");
  auto parts = absl::make_unique<Parts>();
  PHYLLO_ASSIGN_OR_RETURN(parts->jinja, JinjaTemplate::Compile(source));
  parts->guarded = CollectGuarded(tokenizer);
  return absl::WrapUnique(new ChatTemplate(tokenizer, std::move(parts)));
}

absl::StatusOr<RenderedChat> ChatTemplate::Render(const ChatRequest& request) const {
  PHYLLO_ASSIGN_OR_RETURN(const Json variables, MakeVariables(request, tokenizer_.config()));
  UnmarkedText unmarked;
  if (request.parse_special_tokens_in_content) {
    PHYLLO_ASSIGN_OR_RETURN(unmarked.text, parts_->jinja->Render(variables));
  } else {
    PHYLLO_ASSIGN_OR_RETURN(unmarked,
                            parts_->RenderMarked(variables, tokenizer_.config().chat_template));
  }
  EncodeOptions options;
  options.add_special_tokens = false;
  PHYLLO_ASSIGN_OR_RETURN(Encoding encoding, tokenizer_.EncodeWithLiteralRanges(
                                                 unmarked.text, unmarked.literal_ranges, options));
  RenderedChat result;
  result.segments = MakeSegments(unmarked.text, unmarked.literal_ranges);
  result.text = std::move(unmarked.text);
  result.ids = std::move(encoding.ids);
  return result;
}

}  // namespace phyllo
