#include "model/tokenizer/text/grapheme.h"

#include <utf8proc.h>

#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

bool IsAscii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

}  // namespace

size_t EndOfGrapheme(absl::string_view text, size_t begin) {
  size_t end = begin + static_cast<size_t>(Utf8Length(text[begin]));
  if (IsAscii(text[begin]) && text[begin] != '\r' && (end == text.size() || IsAscii(text[end])))
    return end;
  auto last = static_cast<utf8proc_int32_t>(CodePointAt(text, begin));
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    const auto next = static_cast<utf8proc_int32_t>(CodePointAt(text, end));
    if (utf8proc_grapheme_break_stateful(last, next, &state)) break;
    end += static_cast<size_t>(Utf8Length(text[end]));
    last = next;
  }
  return end;
}

}  // namespace phyllo
