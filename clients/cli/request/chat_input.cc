#include "clients/cli/request/chat_input.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace phyllo {
namespace {

constexpr absl::string_view kQuotes = "\"\"\"";

}  // namespace

std::optional<ChatEntry> ChatInput::Add(absl::string_view line) {
  if (open_) {
    const bool closes = absl::ConsumeSuffix(&line, kQuotes);
    absl::StrAppend(&text_, "\n", line);
    if (!closes) return std::nullopt;
    open_ = false;
    return ChatEntry{"", std::string(absl::StripPrefix(std::exchange(text_, ""), "\n"))};
  }
  if (absl::ConsumePrefix(&line, kQuotes)) {
    if (absl::ConsumeSuffix(&line, kQuotes)) return ChatEntry{"", std::string(line)};
    open_ = true;
    text_ = std::string(line);
    return std::nullopt;
  }
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) return std::nullopt;
  if (absl::StartsWith(line, "//")) return ChatEntry{"", std::string(line.substr(1))};
  if (!absl::ConsumePrefix(&line, "/")) return ChatEntry{"", std::string(line)};
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(absl::ByAnyChar(" \t"), 1));
  return ChatEntry{std::string(parts.first), std::string(absl::StripAsciiWhitespace(parts.second))};
}

void ChatInput::Reset() {
  open_ = false;
  text_.clear();
}

}  // namespace phyllo
