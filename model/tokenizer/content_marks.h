// Finds out which parts of a rendered conversation the template wrote and which came from the
// request, although the template engine knows nothing of it: strings of the request are marked with
// characters that occur nowhere else, and the marks are looked up in what was rendered.
#ifndef PHYLLO_MODEL_TOKENIZER_CONTENT_MARKS_H_
#define PHYLLO_MODEL_TOKENIZER_CONTENT_MARKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "model/tokenizer/text/encoding.h"
#include "model/tokenizer/text/string_trie.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// The spellings that a string of the request must not turn into tokens.
struct GuardedTokens {
  StringTrie control;  // Control tokens.
  StringTrie spelled;  // Other added tokens that the template spells.
};

// Text without its marks, and the ranges that they tell.
struct UnmarkedText {
  std::string text;
  std::vector<LiteralRange> literal_ranges;
};

// Five characters that occur in none of the texts of one request. Thread-compatible.
class ContentMarks {
 public:
  // Errors: INVALID_ARGUMENT (the texts use all 65536 characters among which the marks are chosen).
  static absl::StatusOr<ContentMarks> Choose(const nlohmann::ordered_json& variables,
                                             absl::string_view template_source);

  // Puts marks around every string of the request (all members of `variables` that are not
  // trusted), inside of the white space at its ends, so that trimming keeps them. Keys and the
  // members "role" and "type", which templates compare, are marked only if they hold a guarded
  // spelling.
  void MarkStrings(const GuardedTokens& tokens, nlohmann::ordered_json* variables) const;

  // Puts a mark behind the first character of every guarded spelling, in every string and key.
  void BreakGuarded(const GuardedTokens& tokens, nlohmann::ordered_json* variables) const;

  // The text without marks, with a range for each marked string; none if begins and ends do not
  // alternate, because the template took a string apart.
  absl::optional<UnmarkedText> RemoveStringMarks(absl::string_view rendered) const;

  // The text without marks, with a range for each guarded spelling that was broken.
  UnmarkedText RemoveBreaks(const GuardedTokens& tokens, absl::string_view rendered) const;

 private:
  // Names the marks: ranges of the assistant's strings are less strict
  // (LiteralRange::template_tokens_too).
  enum Mark { kBegin = 0, kBeginAssistant, kEnd, kBreak, kBreakAssistant, kMarkCount };

  explicit ContentMarks(std::vector<std::string> marks);

  void MarkTree(const GuardedTokens& tokens, bool assistant, nlohmann::ordered_json* value) const;
  std::string MarkString(bool assistant, const std::string& text) const;
  void BreakTree(const GuardedTokens& tokens, bool assistant, nlohmann::ordered_json* value) const;
  std::string BreakString(const GuardedTokens& tokens, bool assistant,
                          absl::string_view text) const;
  int MarkAt(absl::string_view text, size_t at) const;

  std::vector<std::string> marks_;  // [kMarkCount], each 4 bytes of UTF-8.
};

// Whether the variable is the model's (bos_token, eos_token, unk_token, pad_token) and not the
// request's.
bool IsTrustedVariable(absl::string_view name);

// Whether any string or key of the request holds a guarded spelling.
bool HoldsGuarded(const GuardedTokens& tokens, const nlohmann::ordered_json& variables);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_CONTENT_MARKS_H_
