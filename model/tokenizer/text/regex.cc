#include "model/tokenizer/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr size_t kJitStackStart = 64 * 1024;
constexpr size_t kJitStackLimit = 16 * 1024 * 1024;

// The body of a character class for an escape that PCRE2 reads differently; empty for all others.
absl::string_view ClassBody(char escape) {
  switch (escape) {
    case 's':
      return "\\p{White_Space}";
    case 'd':
      return "\\p{Nd}";
    case 'h':
      return "0-9a-fA-F";
    case 'w':
      return "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
    default:
      return "";
  }
}

std::string ErrorText(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

// Appends the translation of the escape `\c`; `in_class` if it stands inside [...].
absl::Status AppendEscape(char c, bool in_class, std::string* out) {
  const bool negated = c == 'S' || c == 'D' || c == 'H' || c == 'W';
  const absl::string_view body = ClassBody(negated ? static_cast<char>(c + 32) : c);
  if (body.empty()) {
    absl::StrAppend(out, "\\", std::string(1, c));
    return absl::OkStatus();
  }
  if (!negated) {
    absl::StrAppend(out, in_class ? "" : "[", body, in_class ? "" : "]");
    return absl::OkStatus();
  }
  if (!in_class) {
    absl::StrAppend(out, "[^", body, "]");
  } else if (c == 'S') {
    out->append("\\P{White_Space}");
  } else if (c == 'D') {
    out->append("\\P{Nd}");
  } else {
    return absl::UnimplementedError(
        absl::StrCat("\\", std::string(1, c), " inside a character class"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> TranslatePattern(absl::string_view pattern, RegexSyntax syntax) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const absl::string_view rest = pattern.substr(i);
    if (c == '\\' && i + 1 < pattern.size()) {
      PHYLLO_RETURN_IF_ERROR(AppendEscape(pattern[++i], in_class, &out));
      continue;
    }
    if (in_class) {
      if (rest.substr(0, 2) == "&&")
        return absl::UnimplementedError("intersection (&&) of character classes");
      if (c == '[' && rest.substr(0, 2) != "[:")
        return absl::UnimplementedError("a character class inside another");
      if (rest.substr(0, 2) == "[:") {
        const size_t end = rest.find(":]");
        if (end == absl::string_view::npos)
          return absl::UnimplementedError("an unterminated [: :] class");
        absl::StrAppend(&out, rest.substr(0, end + 2));
        i += end + 1;
        continue;
      }
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      out.push_back(c);
      // A bracket that comes first is a member, not the end.
      if (rest.substr(1, 1) == "^") out.push_back(pattern[++i]);
      if (pattern.substr(i + 1, 1) == "]") absl::StrAppend(&out, "\\", pattern.substr(++i, 1));
      continue;
    } else if (syntax == RegexSyntax::kOniguruma && rest.substr(0, 3) == "(?m") {
      // Ruby's (?m) lets the dot match a line end, which is (?s) elsewhere.
      absl::StrAppend(&out, "(?s");
      i += 2;
      continue;
    }
    out.push_back(c);
  }
  return out;
}

struct RegexScratch::Impl {
  pcre2_match_data* match_data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr);

  Impl() { pcre2_jit_stack_assign(context, nullptr, stack); }
  ~Impl() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match_data);
  }
};

RegexScratch::RegexScratch() : impl_(absl::make_unique<Impl>()) {}
RegexScratch::~RegexScratch() = default;

struct Regex::Impl {
  pcre2_code* code = nullptr;
  bool jit = false;

  ~Impl() { pcre2_code_free(code); }
};

Regex::Regex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Regex::~Regex() = default;

absl::StatusOr<std::unique_ptr<Regex>> Regex::Compile(absl::string_view pattern,
                                                      RegexSyntax syntax) {
  absl::StatusOr<std::string> translated = TranslatePattern(pattern, syntax);
  if (!translated.ok()) {
    return absl::Status(translated.status().code(),
                        absl::StrCat("regular expression \"", pattern,
                                     "\": not supported: ", translated.status().message()));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto impl = absl::make_unique<Impl>();
  const uint32_t line_ends =
      syntax == RegexSyntax::kOniguruma ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
  impl->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(),
                             PCRE2_UTF | PCRE2_UCP | line_ends, &error, &offset, nullptr);
  if (impl->code == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("regular expression \"", pattern,
                                                   "\": ", ErrorText(error), " at byte ", offset,
                                                   " of \"", *translated, "\""));
  }
  // Without JIT (memory that may not be executable) the interpreter gives the same matches, slower.
  impl->jit = pcre2_jit_compile(impl->code, PCRE2_JIT_COMPLETE) == 0;
  return absl::WrapUnique(new Regex(std::move(impl)));
}

absl::Status Regex::FindAll(absl::string_view subject, RegexScratch* scratch,
                            std::vector<RegexMatch>* matches) const {
  const RegexScratch::Impl& work = *scratch->impl_;
  const auto* text = reinterpret_cast<PCRE2_SPTR>(subject.data());
  const auto match = impl_->jit ? pcre2_jit_match : pcre2_match;
  size_t start = 0;
  uint32_t options = PCRE2_NOTEMPTY;
  if (!impl_->jit) options |= PCRE2_NO_UTF_CHECK;
  while (start < subject.size()) {
    const int result =
        match(impl_->code, text, subject.size(), start, options, work.match_data, work.context);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("regular expression of the tokenizer: ", ErrorText(result)));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(work.match_data);
    // \K and lookbehind constructs may report an inverted or repeated range; it would not advance.
    if (bounds[1] <= start || bounds[0] > bounds[1]) {
      return absl::ResourceExhaustedError("regular expression of the tokenizer does not advance");
    }
    matches->push_back({bounds[0], bounds[1]});
    start = bounds[1];
  }
  return absl::OkStatus();
}

}  // namespace phyllo
