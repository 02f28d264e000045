#include "model/tokenizer/text/byte_level.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(ByteLevelTest, SpaceAndNewlineHaveTheirKnownCharacters) {
  EXPECT_EQ(BytesToByteLevel(" the\n"), "ĠtheĊ");
  EXPECT_EQ(ByteLevelToBytes("ĠtheĊ"), " the\n");
}

TEST(ByteLevelTest, EveryByteHasItsOwnCharacter) {
  std::set<char32_t> characters;
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    characters.insert(ByteLevelCharacter(static_cast<uint8_t>(byte)));
    all.push_back(static_cast<char>(byte));
  }
  EXPECT_EQ(characters.size(), 256u);
  EXPECT_EQ(ByteLevelToBytes(BytesToByteLevel(all)), all);
}

TEST(ByteLevelTest, TokenOutsideAlphabetStandsForItself) {
  EXPECT_EQ(ByteLevelToBytes("<｜Ġ｜>"), "<｜Ġ｜>");
}

}  // namespace
}  // namespace phyllo
