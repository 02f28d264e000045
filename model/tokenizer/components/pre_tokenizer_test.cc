#include "model/tokenizer/components/pre_tokenizer.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Split(const char* json, absl::string_view text, int64_t base = 0) {
  const auto made = MakePreTokenizer(nlohmann::json::parse(json));
  EXPECT_THAT(made, IsOk());
  RegexScratch scratch;
  WordList list(AlignedText(text, base, /*tracked=*/true));
  EXPECT_THAT(made->pre_tokenizer->Split(&list, &scratch), IsOk());
  std::vector<std::string> words;
  for (const RegexMatch& word : list.words)
    words.emplace_back(list.text.view().substr(word.begin, word.end - word.begin));
  return words;
}

TEST(PreTokenizerTest, ByteLevelSplitsAsGpt2) {
  EXPECT_THAT(
      Split(R"({"type": "ByteLevel", "add_prefix_space": false})", "Hello there's  2 dogs!"),
      ElementsAre("Hello", " there", "'s", " ", " 2", " dogs", "!"));
}

TEST(PreTokenizerTest, ByteLevelAddsPrefixSpace) {
  EXPECT_THAT(Split(R"({"type": "ByteLevel", "add_prefix_space": true})", "a b"),
              ElementsAre(" a", " b"));
  EXPECT_THAT(Split(R"({"type": "ByteLevel", "add_prefix_space": true})", " a"), ElementsAre(" a"));
}

TEST(PreTokenizerTest, ByteLevelWithoutRegexKeepsWords) {
  EXPECT_THAT(
      Split(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})", "a b"),
      ElementsAre(" a b"));
}

TEST(PreTokenizerTest, MetaspaceSplitsBeforeMark) {
  EXPECT_THAT(
      Split(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})", "a b"),
      ElementsAre("▁a", "▁b"));
}

TEST(PreTokenizerTest, MetaspaceFirstPrependsAtBeginOnly) {
  const char* const json =
      R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false})";
  EXPECT_THAT(Split(json, "a b"), ElementsAre("▁a▁b"));
  EXPECT_THAT(Split(json, "a b", /*base=*/7), ElementsAre("a▁b"));
}

TEST(PreTokenizerTest, MetaspaceReadsLegacyPrefix) {
  EXPECT_THAT(
      Split(
          R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": false, "split": false})",
          "a b"),
      ElementsAre("a▁b"));
}

TEST(PreTokenizerTest, DigitsIndividualOrTogether) {
  EXPECT_THAT(Split(R"({"type": "Digits", "individual_digits": true})", "a12b"),
              ElementsAre("a", "1", "2", "b"));
  EXPECT_THAT(Split(R"({"type": "Digits", "individual_digits": false})", "a12b"),
              ElementsAre("a", "12", "b"));
}

TEST(PreTokenizerTest, WhitespaceKeepsWordsAndSymbols) {
  EXPECT_THAT(Split(R"({"type": "Whitespace"})", "Hi, you !?"),
              ElementsAre("Hi", ",", "you", "!?"));
  EXPECT_THAT(Split(R"({"type": "WhitespaceSplit"})", "Hi, you !?"),
              ElementsAre("Hi,", "you", "!?"));
}

TEST(PreTokenizerTest, PunctuationIsIsolated) {
  EXPECT_THAT(Split(R"({"type": "Punctuation"})", "a,b"), ElementsAre("a", ",", "b"));
}

TEST(PreTokenizerTest, SequenceSplitsFurther) {
  EXPECT_THAT(Split(R"({"type": "Sequence", "pretokenizers": [
                  {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": false},
                  {"type": "Digits", "individual_digits": true}]})",
                    "a 12"),
              ElementsAre("a", " ", "1", "2"));
}

TEST(PreTokenizerTest, RewrittenTextKeepsOffsets) {
  const auto made = MakePreTokenizer(
      nlohmann::json::parse(R"({"type": "Metaspace", "prepend_scheme": "always"})"));
  ASSERT_THAT(made, IsOk());
  RegexScratch scratch;
  WordList list(AlignedText("a b", 0, /*tracked=*/true));
  ASSERT_THAT(made->pre_tokenizer->Split(&list, &scratch), IsOk());
  EXPECT_EQ(list.text.OriginalRange(list.words[1].begin, list.words[1].end), (ByteRange{1, 3}));
}

TEST(PreTokenizerTest, ByteLevelMustBeLast) {
  EXPECT_THAT(
      MakePreTokenizer(nlohmann::json::parse(
          R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]})")),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("Digits after ByteLevel")));
}

TEST(PreTokenizerTest, UnknownTypeIsNamed) {
  EXPECT_THAT(MakePreTokenizer({{"type", "UnicodeScripts"}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("UnicodeScripts")));
}

}  // namespace
}  // namespace phyllo
