// The regular expressions of tokenizer.json, which are written for Oniguruma (Ruby syntax), and of
// tiktoken, which are written for Rust's regex crate; executed by PCRE2 with JIT.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_REGEX_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_REGEX_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// What one thread needs to match: the vector of offsets and a stack for the compiled code.
// Thread-compatible.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// One match, in bytes [begin, end) of the subject.
struct RegexMatch {
  size_t begin;
  size_t end;
};

// Where they differ: in Ruby ^ and $ match at every line and (?m) lets the dot match a line end; in
// Rust $ matches at the end of the text alone, unless (?m) says that it matches at every line.
enum class RegexSyntax { kOniguruma, kRust };

// A compiled expression. Immutable, thread-safe.
class Regex {
 public:
  // Translates and compiles `pattern`. Errors: INVALID_ARGUMENT (does not compile), UNIMPLEMENTED
  // (uses a construct that PCRE2 would read as something else).
  static absl::StatusOr<std::unique_ptr<Regex>> Compile(
      absl::string_view pattern, RegexSyntax syntax = RegexSyntax::kOniguruma);

  ~Regex();

  // Appends all matches in `subject` (valid UTF-8), left to right, not overlapping, none of them
  // empty. Errors: RESOURCE_EXHAUSTED (the match needs more stack or steps than allowed).
  absl::Status FindAll(absl::string_view subject, RegexScratch* scratch,
                       std::vector<RegexMatch>* matches) const;

 private:
  struct Impl;
  explicit Regex(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

// The PCRE2 spelling of a pattern. PCRE2's \s, \w, \d and \h name other sets (\h:
// hexadecimal digits in Ruby) and are spelled out; \p{..} is the same. Errors: UNIMPLEMENTED,
// naming the construct.
absl::StatusOr<std::string> TranslatePattern(absl::string_view pattern,
                                             RegexSyntax syntax = RegexSyntax::kOniguruma);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_REGEX_H_
