#include "model/tokenizer/components/added_tokens.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

bool IsDelimited(absl::string_view content, absl::string_view open, absl::string_view close) {
  return content.size() > open.size() + close.size() && absl::StartsWith(content, open) &&
         absl::EndsWith(content, close);
}

bool IsControl(const AddedToken& token) {
  return token.special || IsDelimited(token.content, "<|", "|>") ||
         IsDelimited(token.content, "<｜", "｜>");
}

bool StandsAlone(absl::string_view text, size_t begin, size_t end) {
  const bool word_before =
      begin > 0 && IsWordCharacter(CodePointAt(text, PreviousCharacter(text, begin)));
  const bool word_after = end < text.size() && IsWordCharacter(CodePointAt(text, end));
  return !word_before && !word_after;
}

// The begin of the white space that ends at `end`, not before `limit`.
size_t SpaceBefore(absl::string_view text, size_t end, size_t limit) {
  while (end > limit) {
    const size_t last = PreviousCharacter(text, end);
    if (!IsWhitespace(CodePointAt(text, last))) break;
    end = last;
  }
  return end;
}

size_t SpaceAfter(absl::string_view text, size_t begin) {
  while (begin < text.size() && IsWhitespace(CodePointAt(text, begin)))
    begin += Utf8Length(text[begin]);
  return begin;
}

}  // namespace

absl::StatusOr<AddedTokens> AddedTokens::FromJson(const nlohmann::json& list,
                                                  const Normalizer* normalizer,
                                                  absl::string_view chat_template) {
  AddedTokens result;
  if (list.is_null()) return result;
  if (!list.is_array())
    return absl::InvalidArgumentError("tokenizer.json: \"added_tokens\" must be an array");
  for (const nlohmann::json& entry : list)
    PHYLLO_RETURN_IF_ERROR(result.Add(entry, normalizer, chat_template));
  return result;
}

absl::Status AddedTokens::Add(const nlohmann::json& entry, const Normalizer* normalizer,
                              absl::string_view chat_template) {
  AddedToken token;
  PHYLLO_ASSIGN_OR_RETURN(const int64_t id, IntegerFieldOr(entry, "id", -1));
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("added_tokens: id ", id, " is missing or out of range"));
  }
  token.id = static_cast<int32_t>(id);
  PHYLLO_ASSIGN_OR_RETURN(token.content, StringField(entry, "content"));
  PHYLLO_ASSIGN_OR_RETURN(token.special, BoolFieldOr(entry, "special", false));
  PHYLLO_ASSIGN_OR_RETURN(token.single_word, BoolFieldOr(entry, "single_word", false));
  PHYLLO_ASSIGN_OR_RETURN(token.lstrip, BoolFieldOr(entry, "lstrip", false));
  PHYLLO_ASSIGN_OR_RETURN(token.rstrip, BoolFieldOr(entry, "rstrip", false));
  PHYLLO_ASSIGN_OR_RETURN(token.normalized, BoolFieldOr(entry, "normalized", !token.special));
  if (token.content.empty())
    return absl::OkStatus();  // Tokenizers skips it too: it would match everywhere.
  token.control = IsControl(token);
  token.in_template = absl::StrContains(chat_template, token.content);
  std::string spelled = token.content;
  if (token.normalized && normalizer != nullptr) {
    RegexScratch scratch;
    PHYLLO_ASSIGN_OR_RETURN(
        const AlignedText text,
        normalizer->Normalize(AlignedText(token.content, 0, /*tracked=*/false), &scratch));
    spelled = std::string(text.view());
  }
  const auto index = static_cast<int32_t>(tokens_.size());
  if (!spelled.empty()) (token.normalized ? in_normalized_ : in_original_).Insert(spelled, index);
  by_id_.emplace(token.id, index);
  by_content_.emplace(token.content, index);
  tokens_.push_back(std::move(token));
  return absl::OkStatus();
}

std::vector<AddedTokens::Part> AddedTokens::Cut(absl::string_view text, bool normalized,
                                                Filter allowed) const {
  const StringTrie& trie = normalized ? in_normalized_ : in_original_;
  std::vector<Part> parts;
  size_t cut = 0;  // End of the last part.
  for (size_t at = 0; at < text.size() && !trie.empty();) {
    if (!trie.MayBeginWith(text[at])) {
      ++at;
      continue;
    }
    const AddedToken* token = nullptr;
    size_t end = at;
    trie.MatchAt(text, at, [&](int32_t index, size_t length) {
      const AddedToken& candidate = tokens_[index];
      if (!allowed(candidate, at, at + length)) return false;
      end = at + length;
      if (!candidate.single_word || StandsAlone(text, at, end)) token = &candidate;
      return true;
    });
    if (token == nullptr) {
      at = end > at ? end : at + 1;  // Tokenizers does not look inside a match that must stand
                                     // alone and does not.
      continue;
    }
    const size_t begin = token->lstrip ? SpaceBefore(text, at, cut) : at;
    if (token->rstrip) end = SpaceAfter(text, end);
    if (cut < begin) parts.push_back({nullptr, cut, begin});
    parts.push_back({token, begin, end});
    cut = at = end;
  }
  if (cut < text.size()) parts.push_back({nullptr, cut, text.size()});
  return parts;
}

const AddedToken* AddedTokens::Find(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

absl::optional<int32_t> AddedTokens::IdOf(absl::string_view content) const {
  const auto found = by_content_.find(content);
  if (found == by_content_.end()) return absl::nullopt;
  return tokens_[found->second].id;
}

}  // namespace phyllo
