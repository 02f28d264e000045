#include "model/tokenizer/text/byte_level.h"

#include <array>

#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

constexpr int kAlphabetEnd = 256 + 68;  // One more than the largest character of the alphabet.

constexpr bool StandsForItself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

struct Alphabet {
  std::array<char32_t, 256> character_of{};
  std::array<int16_t, kAlphabetEnd> byte_of{};  // -1: not in the alphabet.

  constexpr Alphabet() {
    for (int16_t& byte : byte_of) byte = -1;
    int next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const int character = StandsForItself(byte) ? byte : next++;
      character_of[byte] = static_cast<char32_t>(character);
      byte_of[character] = static_cast<int16_t>(byte);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

char32_t ByteLevelCharacter(uint8_t byte) { return kAlphabet.character_of[byte]; }

std::string ByteLevelToBytes(absl::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (size_t at = 0; at < token.size();) {
    const Utf8Step step = StepUtf8(token, at);
    const bool inside = step.kind == Utf8Step::Kind::kValid && step.code_point < kAlphabetEnd;
    const int byte = inside ? kAlphabet.byte_of[step.code_point] : -1;
    if (byte < 0) return std::string(token);
    bytes.push_back(static_cast<char>(byte));
    at += step.length;
  }
  return bytes;
}

std::string BytesToByteLevel(absl::string_view bytes) {
  std::string text;
  for (const char byte : bytes) AppendUtf8(ByteLevelCharacter(static_cast<uint8_t>(byte)), &text);
  return text;
}

}  // namespace phyllo
