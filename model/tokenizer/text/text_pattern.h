// What the components Replace and Split look for: a literal string or a regular expression.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_TEXT_PATTERN_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_TEXT_PATTERN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/text/regex.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// Immutable, thread-safe.
class TextPattern {
 public:
  // From the field "pattern" of a component: {"String": s} or {"Regex": r}.
  // Errors: INVALID_ARGUMENT (neither, an empty string, or the expression does not compile),
  // UNIMPLEMENTED (see Regex).
  static absl::StatusOr<TextPattern> FromJson(const nlohmann::json& component);

  static absl::StatusOr<TextPattern> FromRegex(absl::string_view expression,
                                               RegexSyntax syntax = RegexSyntax::kOniguruma);

  // Appends all matches in `text`, left to right, not overlapping, none empty. Errors: see
  // Regex::FindAll.
  absl::Status FindAll(absl::string_view text, RegexScratch* scratch,
                       std::vector<RegexMatch>* matches) const;

  // The literal string; empty if the pattern is a regular expression.
  const std::string& literal() const { return literal_; }

 private:
  TextPattern(std::string literal, std::unique_ptr<Regex> regex);

  std::string literal_;
  std::unique_ptr<Regex> regex_;  // Null if literal.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_TEXT_PATTERN_H_
