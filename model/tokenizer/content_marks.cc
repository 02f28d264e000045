// The marks are taken from the private use plane 16 (U+100000 ...), whose characters no text should
// hold and which are neither white space nor punctuation nor changed by upper, lower or tojson.
#include "model/tokenizer/content_marks.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using Json = nlohmann::ordered_json;

constexpr char32_t kFirstMark = 0x100000;
constexpr char32_t kMarkChoices = 0xFFFE;
constexpr size_t kMarkBytes = 4;
constexpr char kMarkLead = '\xF4';  // First byte of all of plane 16.

void NotePlane16(absl::string_view text, absl::flat_hash_set<char32_t>* used) {
  for (size_t at = text.find(kMarkLead); at != absl::string_view::npos;
       at = text.find(kMarkLead, at + 1)) {
    used->insert(CodePointAt(text, at));
  }
}

// Calls `visit` for every string and key of `value`.
void VisitStrings(const Json& value, absl::FunctionRef<void(absl::string_view)> visit) {
  if (value.is_string()) visit(value.get_ref<const std::string&>());
  if (value.is_array()) {
    for (const Json& item : value) VisitStrings(item, visit);
  }
  if (!value.is_object()) return;
  for (auto member = value.begin(); member != value.end(); ++member) {
    visit(member.key());
    VisitStrings(*member, visit);
  }
}

bool IsAssistant(const Json& message) {
  if (!message.is_object()) return false;
  const auto role = message.find("role");
  return role != message.end() && role->is_string() &&
         role->get_ref<const std::string&>() == "assistant";
}

// Calls `visit(item, assistant)` for each message and each other variable of the request.
template <typename AnyJson, typename Visit>
void VisitRequest(AnyJson* variables, Visit visit) {
  for (auto member = variables->begin(); member != variables->end(); ++member) {
    if (member.key() == "messages" && member->is_array()) {
      for (auto& message : *member) visit(&message, IsAssistant(message));
    } else if (!IsTrustedVariable(member.key())) {
      visit(&*member, false);
    }
  }
}

// The longest guarded spelling that begins at `at`, in bytes; 0: none.
size_t GuardedLength(const GuardedTokens& tokens, bool assistant, absl::string_view text,
                     size_t at) {
  size_t longest = 0;
  const auto take = [&](int32_t, size_t length) {
    longest = std::max(longest, length);
    return true;
  };
  tokens.control.MatchAt(text, at, take);
  if (!assistant) tokens.spelled.MatchAt(text, at, take);
  return longest;
}

bool HoldsSpelling(const GuardedTokens& tokens, bool assistant, absl::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (GuardedLength(tokens, assistant, text, at) > 0) return true;
  }
  return false;
}

}  // namespace

ContentMarks::ContentMarks(std::vector<std::string> marks) : marks_(std::move(marks)) {}

absl::StatusOr<ContentMarks> ContentMarks::Choose(const Json& variables,
                                                  absl::string_view template_source) {
  absl::flat_hash_set<char32_t> used;
  NotePlane16(template_source, &used);
  VisitStrings(variables, [&](absl::string_view text) { NotePlane16(text, &used); });
  std::vector<std::string> marks;
  for (char32_t c = kFirstMark; c < kFirstMark + kMarkChoices && marks.size() < kMarkCount; ++c) {
    if (used.contains(c)) continue;
    marks.emplace_back();
    AppendUtf8(c, &marks.back());
  }
  if (marks.size() < kMarkCount) {
    return absl::InvalidArgumentError(
        "the conversation uses all characters of the private use plane 16");
  }
  return ContentMarks(std::move(marks));
}

void ContentMarks::MarkStrings(const GuardedTokens& tokens, Json* variables) const {
  VisitRequest(variables, [&](Json* item, bool assistant) { MarkTree(tokens, assistant, item); });
}

void ContentMarks::MarkTree(const GuardedTokens& tokens, bool assistant, Json* value) const {
  if (value->is_string()) {
    *value = MarkString(assistant, value->get_ref<const std::string&>());
  } else if (value->is_array()) {
    for (Json& item : *value) MarkTree(tokens, assistant, &item);
  } else if (value->is_object()) {
    Json marked = Json::object();
    for (auto member = value->begin(); member != value->end(); ++member) {
      const std::string& key = member.key();
      const bool compared =
          (key == "role" || key == "type") && member->is_string() &&
          !HoldsSpelling(tokens, assistant, member->get_ref<const std::string&>());
      if (!compared) MarkTree(tokens, assistant, &*member);
      marked[HoldsSpelling(tokens, assistant, key) ? MarkString(assistant, key) : key] =
          std::move(*member);
    }
    *value = std::move(marked);
  }
}

std::string ContentMarks::MarkString(bool assistant, const std::string& text) const {
  size_t begin = 0, end = text.size();
  while (begin < end && IsWhitespace(CodePointAt(text, begin))) begin += Utf8Length(text[begin]);
  while (begin < end && IsWhitespace(CodePointAt(text, PreviousCharacter(text, end))))
    end = PreviousCharacter(text, end);
  if (begin == end) return text;
  return text.substr(0, begin) + marks_[assistant ? kBeginAssistant : kBegin] +
         text.substr(begin, end - begin) + marks_[kEnd] + text.substr(end);
}

void ContentMarks::BreakGuarded(const GuardedTokens& tokens, Json* variables) const {
  VisitRequest(variables, [&](Json* item, bool assistant) { BreakTree(tokens, assistant, item); });
}

void ContentMarks::BreakTree(const GuardedTokens& tokens, bool assistant, Json* value) const {
  if (value->is_string()) {
    *value = BreakString(tokens, assistant, value->get_ref<const std::string&>());
  } else if (value->is_array()) {
    for (Json& item : *value) BreakTree(tokens, assistant, &item);
  } else if (value->is_object()) {
    Json broken = Json::object();
    for (auto member = value->begin(); member != value->end(); ++member) {
      BreakTree(tokens, assistant, &*member);
      broken[BreakString(tokens, assistant, member.key())] = std::move(*member);
    }
    *value = std::move(broken);
  }
}

std::string ContentMarks::BreakString(const GuardedTokens& tokens, bool assistant,
                                      absl::string_view text) const {
  std::string broken;
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text[at]);
    broken.append(text.data() + at, length);
    if (GuardedLength(tokens, assistant, text, at) > 0)
      broken.append(marks_[assistant ? kBreakAssistant : kBreak]);
    at += length;
  }
  return broken;
}

int ContentMarks::MarkAt(absl::string_view text, size_t at) const {
  if (text[at] != kMarkLead) return -1;
  for (int mark = 0; mark < kMarkCount; ++mark) {
    if (text.substr(at, kMarkBytes) == marks_[mark]) return mark;
  }
  return -1;
}

absl::optional<UnmarkedText> ContentMarks::RemoveStringMarks(absl::string_view rendered) const {
  UnmarkedText result;
  bool open = false;
  for (size_t at = 0; at < rendered.size();) {
    const int mark = MarkAt(rendered, at);
    if (mark < 0) {
      result.text.push_back(rendered[at++]);
      continue;
    }
    const auto place = static_cast<int64_t>(result.text.size());
    if ((mark == kEnd) != open) return absl::nullopt;
    if (open) {
      result.literal_ranges.back().bytes.end = place;
    } else {
      result.literal_ranges.push_back({{place, place}, mark == kBegin});
    }
    open = !open;
    at += kMarkBytes;
  }
  if (open) return absl::nullopt;
  return result;
}

UnmarkedText ContentMarks::RemoveBreaks(const GuardedTokens& tokens,
                                        absl::string_view rendered) const {
  std::string text;
  std::vector<std::pair<size_t, bool>>
      breaks;  // Place in `text`, and whether it is the assistant's.
  for (size_t at = 0; at < rendered.size();) {
    const int mark = MarkAt(rendered, at);
    if (mark < 0) {
      text.push_back(rendered[at++]);
      continue;
    }
    if (!text.empty()) breaks.emplace_back(text.size(), mark == kBreakAssistant);
    at += kMarkBytes;
  }
  UnmarkedText result;
  for (const auto& [place, assistant] : breaks) {
    const size_t begin = PreviousCharacter(text, place);
    const size_t end = std::max(place, begin + GuardedLength(tokens, assistant, text, begin));
    const LiteralRange range{{static_cast<int64_t>(begin), static_cast<int64_t>(end)}, !assistant};
    LiteralRange* const last =
        result.literal_ranges.empty() ? nullptr : &result.literal_ranges.back();
    if (last != nullptr && last->bytes.end > range.bytes.begin) {
      last->bytes.end = std::max(last->bytes.end, range.bytes.end);
      last->template_tokens_too = last->template_tokens_too || range.template_tokens_too;
    } else {
      result.literal_ranges.push_back(range);
    }
  }
  result.text = std::move(text);
  return result;
}

bool IsTrustedVariable(absl::string_view name) {
  return name == "bos_token" || name == "eos_token" || name == "unk_token" || name == "pad_token";
}

bool HoldsGuarded(const GuardedTokens& tokens, const Json& variables) {
  bool found = false;
  VisitRequest(&variables, [&](const Json* item, bool assistant) {
    VisitStrings(*item, [&](absl::string_view text) {
      found = found || HoldsSpelling(tokens, assistant, text);
    });
  });
  return found;
}

}  // namespace phyllo
