#include "model/tokenizer/text/text_pattern.h"

#include <utility>

#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"
#include "nlohmann/json.hpp"

namespace phyllo {

TextPattern::TextPattern(std::string literal, std::unique_ptr<Regex> regex)
    : literal_(std::move(literal)), regex_(std::move(regex)) {}

absl::StatusOr<TextPattern> TextPattern::FromJson(const nlohmann::json& component) {
  const nlohmann::json* pattern = FindField(component, "pattern");
  if (pattern == nullptr) return absl::InvalidArgumentError("field \"pattern\" is missing");
  if (FindField(*pattern, "Regex") != nullptr) {
    PHYLLO_ASSIGN_OR_RETURN(const std::string expression, StringField(*pattern, "Regex"));
    return FromRegex(expression);
  }
  PHYLLO_ASSIGN_OR_RETURN(std::string literal, StringField(*pattern, "String"));
  if (literal.empty()) return absl::InvalidArgumentError("field \"pattern\" is empty");
  return TextPattern(std::move(literal), nullptr);
}

absl::StatusOr<TextPattern> TextPattern::FromRegex(absl::string_view expression,
                                                   RegexSyntax syntax) {
  PHYLLO_ASSIGN_OR_RETURN(std::unique_ptr<Regex> regex, Regex::Compile(expression, syntax));
  return TextPattern("", std::move(regex));
}

absl::Status TextPattern::FindAll(absl::string_view text, RegexScratch* scratch,
                                  std::vector<RegexMatch>* matches) const {
  if (regex_ != nullptr) return regex_->FindAll(text, scratch, matches);
  for (size_t at = text.find(literal_); at != absl::string_view::npos;
       at = text.find(literal_, at + literal_.size())) {
    matches->push_back({at, at + literal_.size()});
  }
  return absl::OkStatus();
}

}  // namespace phyllo
