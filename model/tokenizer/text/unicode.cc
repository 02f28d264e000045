#include "model/tokenizer/text/unicode.h"

#include <utf8proc.h>

namespace phyllo {
namespace {

// The legal second bytes after `lead` (Unicode 15, table 3-7).
void SecondByteRange(unsigned char lead, unsigned char* low, unsigned char* high) {
  *low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  *high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
}

utf8proc_category_t Category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

Utf8Step StepUtf8(absl::string_view bytes, size_t at) {
  const auto lead = static_cast<unsigned char>(bytes[at]);
  if (lead < 0x80) return {Utf8Step::Kind::kValid, 1, lead};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Step::Kind::kInvalid, 1, 0};
  const int length = Utf8Length(bytes[at]);
  char32_t code_point = lead & (0xFF >> (length + 1));
  unsigned char low, high;
  SecondByteRange(lead, &low, &high);
  for (int i = 1; i < length; ++i) {
    if (at + i >= bytes.size()) return {Utf8Step::Kind::kIncomplete, i, 0};
    const auto byte = static_cast<unsigned char>(bytes[at + i]);
    if (byte < low || byte > high) return {Utf8Step::Kind::kInvalid, i, 0};
    code_point = (code_point << 6) | (byte & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Step::Kind::kValid, length, code_point};
}

int64_t FindInvalidUtf8(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Step step = StepUtf8(text, at);
    if (step.kind != Utf8Step::Kind::kValid) return static_cast<int64_t>(at);
    at += step.length;
  }
  return -1;
}

char32_t CodePointAt(absl::string_view text, size_t at) { return StepUtf8(text, at).code_point; }

size_t PreviousCharacter(absl::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

void AppendUtf8(char32_t code_point, std::string* text) {
  utf8proc_uint8_t buffer[4];
  const utf8proc_ssize_t length =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), buffer);
  text->append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(length));
}

bool IsWhitespace(char32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
  if (code_point == 0x85) return true;
  const utf8proc_category_t category = Category(code_point);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool IsNumeric(char32_t code_point) {
  if (code_point < 0x80) return code_point >= '0' && code_point <= '9';
  const utf8proc_category_t category = Category(code_point);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsPunctuation(char32_t code_point) {
  if (code_point < 0x80) {
    return (code_point >= '!' && code_point <= '/') || (code_point >= ':' && code_point <= '@') ||
           (code_point >= '[' && code_point <= '`') || (code_point >= '{' && code_point <= '~');
  }
  const utf8proc_category_t category = Category(code_point);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool IsMark(char32_t code_point) {
  const utf8proc_category_t category = Category(code_point);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool IsWordCharacter(char32_t code_point) {
  const utf8proc_category_t category = Category(code_point);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC;
}

}  // namespace phyllo
