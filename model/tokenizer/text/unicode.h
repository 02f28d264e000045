// UTF-8 and the few character classes that the components of tokenizer.json name. Classes come from
// utf8proc (Unicode 15).
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_UNICODE_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_UNICODE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace phyllo {

inline constexpr absl::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// What begins at one place of a byte string.
struct Utf8Step {
  enum class Kind {
    kValid,       // A character of `length` bytes.
    kInvalid,     // The maximal invalid part (Unicode 15, section 3.9, "substitution of maximal
                  // subparts"): one U+FFFD.
    kIncomplete,  // The string ends inside what may still become a character; `length` bytes of it
                  // are there.
  };
  Kind kind;
  int length;
  char32_t code_point;  // If valid.
};

// REQUIRES: at < bytes.size().
Utf8Step StepUtf8(absl::string_view bytes, size_t at);

// The offset of the first byte that is not part of a valid character, or -1.
int64_t FindInvalidUtf8(absl::string_view text);

// The number of bytes of the character that begins with `lead`, in valid UTF-8.
inline int Utf8Length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The character that begins at `at` of valid UTF-8.
char32_t CodePointAt(absl::string_view text, size_t at);

// The offset at which the character before `end` begins. REQUIRES: 0 < end <= text.size(), valid
// UTF-8.
size_t PreviousCharacter(absl::string_view text, size_t end);

void AppendUtf8(char32_t code_point, std::string* text);

bool IsWhitespace(char32_t code_point);   // White_Space.
bool IsNumeric(char32_t code_point);      // General category N.
bool IsPunctuation(char32_t code_point);  // ASCII punctuation and general category P.
bool IsMark(char32_t code_point);         // General category M.
bool IsWordCharacter(
    char32_t code_point);  // Letters, marks, decimal and letter numbers, connector punctuation.

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_UNICODE_H_
