#include "model/tokenizer/text/unicode_normalization.h"

#include <string>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

std::string Normalize(absl::string_view text, NormalizationForm form) {
  return std::string(NormalizeUnicode(AlignedText(text, 0, /*tracked=*/false), form).view());
}

TEST(UnicodeNormalizationTest, NfcComposes) {
  EXPECT_EQ(Normalize("cafe\u0301!", NormalizationForm::kNfc), "caf\u00E9!");
  EXPECT_EQ(Normalize("\u1112\u1161\u11AB", NormalizationForm::kNfc), "\uD55C");
  EXPECT_EQ(Normalize("\u212B", NormalizationForm::kNfc), "\u00C5");
}

TEST(UnicodeNormalizationTest, NfdDecomposes) {
  EXPECT_EQ(Normalize("caf\u00E9", NormalizationForm::kNfd), "cafe\u0301");
  EXPECT_EQ(Normalize("\uD55C", NormalizationForm::kNfd), "\u1112\u1161\u11AB");
}

TEST(UnicodeNormalizationTest, CompatibilityFormsFold) {
  EXPECT_EQ(Normalize("\uFB01\u00BD", NormalizationForm::kNfkc), "fi1\u20442");
  EXPECT_EQ(Normalize("\uFF21", NormalizationForm::kNfkd), "A");
}

TEST(UnicodeNormalizationTest, MarksAreReordered) {
  // Dot above (230) before dot below (220).
  EXPECT_EQ(Normalize("q\u0307\u0323", NormalizationForm::kNfc), "q\u0323\u0307");
}

TEST(UnicodeNormalizationTest, NormalizedTextIsUnchanged) {
  for (const char* text : {"", "plain", "naïve 你好", "한국어"})
    EXPECT_EQ(Normalize(text, NormalizationForm::kNfc), text);
}

TEST(UnicodeNormalizationTest, AlignsResultWithSource) {
  const AlignedText text =
      NormalizeUnicode(AlignedText("ae\u0301b", 0, /*tracked=*/true), NormalizationForm::kNfc);
  EXPECT_EQ(text.OriginalRange(1, 3), (ByteRange{1, 4}));
  EXPECT_EQ(text.OriginalRange(3, 4), (ByteRange{4, 5}));
}

TEST(UnicodeNormalizationTest, LongRunOfMarksIsSorted) {
  std::string text = "a", sorted = "a";
  for (int i = 0; i < 50000; ++i) text += "\u0307\u0323";
  for (int i = 0; i < 50000; ++i) sorted += "\u0323";
  for (int i = 0; i < 50000; ++i) sorted += "\u0307";
  EXPECT_EQ(Normalize(text, NormalizationForm::kNfd), sorted);
}

}  // namespace
}  // namespace phyllo
