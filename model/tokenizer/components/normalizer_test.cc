#include "model/tokenizer/components/normalizer.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::string Normalize(const char* json, absl::string_view text) {
  const auto normalizer = MakeNormalizer(nlohmann::json::parse(json));
  EXPECT_THAT(normalizer, IsOk());
  RegexScratch scratch;
  const auto result = (*normalizer)->Normalize(AlignedText(text, 0, /*tracked=*/true), &scratch);
  EXPECT_THAT(result, IsOk());
  return std::string(result->view());
}

TEST(NormalizerTest, LowercaseMapsEachCharacter) {
  EXPECT_EQ(Normalize(R"({"type": "Lowercase"})", "ÀB\u0130Σ"), "àbi\u0307σ");
}

TEST(NormalizerTest, StripAccentsDropsMarks) {
  EXPECT_EQ(Normalize(R"({"type": "StripAccents"})", "e\u0301a"), "ea");
}

TEST(NormalizerTest, PrependLeavesEmptyTextAlone) {
  EXPECT_EQ(Normalize(R"({"type": "Prepend", "prepend": "_"})", "a"), "_a");
  EXPECT_EQ(Normalize(R"({"type": "Prepend", "prepend": "_"})", ""), "");
}

TEST(NormalizerTest, ReplaceTakesStringOrExpression) {
  EXPECT_EQ(Normalize(R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})", " a b"),
            "▁a▁b");
  EXPECT_EQ(
      Normalize(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})", "a   b c"),
      "a b c");
}

TEST(NormalizerTest, StripTakesWhiteSpaceFromChosenEnds) {
  EXPECT_EQ(
      Normalize(R"({"type": "Strip", "strip_left": true, "strip_right": true})", "\u3000 a b\n"),
      "a b");
  EXPECT_EQ(Normalize(R"({"type": "Strip", "strip_left": false, "strip_right": true})", " a "),
            " a");
  EXPECT_EQ(Normalize(R"({"type": "Strip"})", "  "), "");
}

TEST(NormalizerTest, SequenceAppliesInOrder) {
  EXPECT_EQ(Normalize(R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": " "},
                          {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})",
                      "a b"),
            "▁a▁b");
}

TEST(NormalizerTest, NullIsNone) { EXPECT_EQ(*MakeNormalizer(nlohmann::json()), nullptr); }

TEST(NormalizerTest, UnknownTypeIsNamed) {
  EXPECT_THAT(MakeNormalizer({{"type", "Precompiled"}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("Precompiled")));
}

TEST(NormalizerTest, DeepNestingIsError) {
  nlohmann::json component = {{"type", "NFC"}};
  for (int i = 0; i < 100; ++i) {
    component =
        nlohmann::json{{"type", "Sequence"}, {"normalizers", nlohmann::json::array({component})}};
  }
  EXPECT_THAT(MakeNormalizer(component),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("deeply")));
}

}  // namespace
}  // namespace phyllo
