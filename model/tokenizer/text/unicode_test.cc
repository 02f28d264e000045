#include "model/tokenizer/text/unicode.h"

#include <string>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

using Kind = Utf8Step::Kind;

void ExpectStep(absl::string_view bytes, Kind kind, int length) {
  const Utf8Step step = StepUtf8(bytes, 0);
  EXPECT_EQ(step.kind, kind);
  EXPECT_EQ(step.length, length);
}

TEST(UnicodeTest, StepsOverValidCharacters) {
  ExpectStep("a", Kind::kValid, 1);
  ExpectStep("é", Kind::kValid, 2);
  ExpectStep("你", Kind::kValid, 3);
  ExpectStep("😀", Kind::kValid, 4);
  EXPECT_EQ(StepUtf8("😀", 0).code_point, char32_t{0x1F600});
}

TEST(UnicodeTest, InvalidPartIsMaximal) {
  ExpectStep("\xFF", Kind::kInvalid, 1);
  ExpectStep("\xC0\xAF", Kind::kInvalid, 1);
  ExpectStep("\xED\xA0\x80", Kind::kInvalid, 1);
  ExpectStep(
      "\xE4\xBD"
      "A",
      Kind::kInvalid, 2);
  ExpectStep(
      "\xF0\x9F\x98"
      "A",
      Kind::kInvalid, 3);
  ExpectStep("\xF4\x90\x80\x80", Kind::kInvalid, 1);
}

TEST(UnicodeTest, EndInsideCharacterIsIncomplete) {
  ExpectStep("\xE4\xBD", Kind::kIncomplete, 2);
  ExpectStep("\xF0", Kind::kIncomplete, 1);
}

TEST(UnicodeTest, FindsFirstInvalidByte) {
  EXPECT_EQ(FindInvalidUtf8("héllo"), -1);
  EXPECT_EQ(FindInvalidUtf8("hé\xE4\xBD"), 3);
}

TEST(UnicodeTest, PreviousCharacterIsInverseOfLength) {
  const std::string text = "a你😀";
  EXPECT_EQ(PreviousCharacter(text, 8), 4u);
  EXPECT_EQ(PreviousCharacter(text, 4), 1u);
  EXPECT_EQ(PreviousCharacter(text, 1), 0u);
}

TEST(UnicodeTest, AppendsWhatCodePointReads) {
  for (const char32_t c :
       {char32_t{'a'}, char32_t{0xE9}, char32_t{0x4F60}, char32_t{0x1F600}, char32_t{0x10FFFD}}) {
    std::string text;
    AppendUtf8(c, &text);
    EXPECT_EQ(CodePointAt(text, 0), c);
  }
}

TEST(UnicodeTest, ClassesFollowGeneralCategory) {
  EXPECT_TRUE(IsWhitespace(0x3000));
  EXPECT_TRUE(IsWhitespace(0x85));
  EXPECT_FALSE(IsWhitespace(0x200B));
  EXPECT_TRUE(IsNumeric(0xBD));
  EXPECT_TRUE(IsNumeric(0x0967));
  EXPECT_FALSE(IsNumeric('a'));
  EXPECT_TRUE(IsPunctuation('$'));
  EXPECT_TRUE(IsPunctuation(0x3002));
  EXPECT_FALSE(IsPunctuation(0x20AC));
  EXPECT_TRUE(IsMark(0x301));
  EXPECT_TRUE(IsWordCharacter('_'));
  EXPECT_FALSE(IsWordCharacter('-'));
}

}  // namespace
}  // namespace phyllo
