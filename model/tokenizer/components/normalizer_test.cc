#include "model/tokenizer/components/normalizer.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
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
  EXPECT_THAT(MakeNormalizer({{"type", "BertNormalizer"}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("BertNormalizer")));
}

TEST(NormalizerTest, TextThatGrowsWithoutEndIsError) {
  const nlohmann::json grow = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(50, 'a')}};
  const auto normalizer = MakeNormalizer(
      {{"type", "Sequence"}, {"normalizers", nlohmann::json::array({grow, grow, grow, grow})}});
  ASSERT_THAT(normalizer, IsOk());
  RegexScratch scratch;
  EXPECT_THAT((*normalizer)->Normalize(AlignedText("aaaa", 0, false), &scratch),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("64 times")));
}

TEST(NormalizerTest, PrecompiledReplacesByShortestRule) {
  // "a" becomes "x", "ab" becomes "yz" (see precompiled_charsmap_test.cc).
  std::vector<uint32_t> units(1024);
  units[0] = 256u << 10;
  units[256 ^ 'a'] = (256u ^ 'a' ^ 512u) << 10 | 1u << 8 | 'a';
  units[512] = 0x80000000u;
  units[512 ^ 'b'] = (512u ^ 'b' ^ 768u) << 10 | 1u << 8 | 'b';
  units[768] = 0x80000002u;
  std::string bytes("\0\x10\0\0", 4);
  bytes.append(reinterpret_cast<const char*>(units.data()), 4096).append("x\0yz\0", 5);
  const nlohmann::json component = {{"type", "Precompiled"},
                                    {"precompiled_charsmap", absl::Base64Escape(bytes)}};
  EXPECT_EQ(Normalize(component.dump().c_str(), "abc"), "xbc");
  // A short cluster is replaced as a whole, a long one character by character.
  EXPECT_EQ(Normalize(component.dump().c_str(), "a\u0301b"), "xb");
  EXPECT_EQ(Normalize(component.dump().c_str(), "a\u0301\u0301\u0301b"), "x\u0301\u0301\u0301b");
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
