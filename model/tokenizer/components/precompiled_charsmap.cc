// A unit of the trie (Darts-clone, darts.h): bits 0-7 and 31 are the label of the node (a unit with
// bit 31 is a value: its bits 0-30), bit 8 says that a value follows, and bits 10-30, shifted by 8
// more if bit 9 is set, are the offset to the children, by exclusive or.
#include "model/tokenizer/components/precompiled_charsmap.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

uint32_t LittleEndian(absl::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

uint32_t Label(uint32_t unit) { return unit & 0x800000FF; }
bool HasValue(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }

}  // namespace

absl::StatusOr<PrecompiledCharsmap> PrecompiledCharsmap::Parse(absl::string_view bytes) {
  const size_t trie_size = bytes.size() < 4 ? 0 : LittleEndian(bytes);
  if (bytes.size() < 4 || trie_size % 4 != 0 || trie_size > bytes.size() - 4) {
    return absl::InvalidArgumentError(absl::StrCat("precompiled_charsmap: a trie of ", trie_size,
                                                   " bytes does not fit in ", bytes.size(),
                                                   " bytes"));
  }
  PrecompiledCharsmap map;
  map.units_.reserve(trie_size / 4);
  for (size_t at = 4; at < 4 + trie_size; at += 4) {
    map.units_.push_back(LittleEndian(bytes.substr(at)));
  }
  map.replacements_ = std::string(bytes.substr(4 + trie_size));
  const int64_t invalid = FindInvalidUtf8(map.replacements_);
  if (invalid >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("precompiled_charsmap: replacements are not valid UTF-8 at byte ", invalid));
  }
  return map;
}

PrecompiledCharsmap::Rule PrecompiledCharsmap::Find(absl::string_view text, bool shortest) const {
  Rule rule;
  if (units_.empty()) return rule;
  size_t node = Offset(units_[0]);
  size_t value = 0;
  for (size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    node ^= static_cast<unsigned char>(text[i]);
    if (node >= units_.size()) break;
    const uint32_t unit = units_[node];
    if (Label(unit) != static_cast<unsigned char>(text[i])) break;
    node ^= Offset(unit);
    if (!HasValue(unit) || node >= units_.size()) continue;
    rule.length = i + 1;
    value = Value(units_[node]);
    if (shortest) break;
  }
  if (rule.length == 0) return rule;
  const absl::string_view from =
      absl::string_view(replacements_).substr(std::min(value, replacements_.size()));
  // A value that points outside, or into a character, is no rule.
  if (from.empty() || (static_cast<unsigned char>(from[0]) & 0xC0) == 0x80) return Rule();
  rule.replacement = from.substr(0, from.find('\0'));
  return rule;
}

}  // namespace phyllo
