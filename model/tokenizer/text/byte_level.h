// The alphabet of byte-level BPE: each of the 256 bytes is written as one printable character
// (GPT-2, encoder.py, bytes_to_unicode): the printable bytes of Latin-1 as themselves, the 68
// others, in order, as U+0100, U+0101, ...
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_BYTE_LEVEL_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_BYTE_LEVEL_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace phyllo {

// The character that stands for `byte`.
char32_t ByteLevelCharacter(uint8_t byte);

// The bytes that `token` stands for. A token with any character outside the alphabet stands for its
// own bytes.
std::string ByteLevelToBytes(absl::string_view token);

// The text that stands for `bytes`.
std::string BytesToByteLevel(absl::string_view bytes);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_BYTE_LEVEL_H_
