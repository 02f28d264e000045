#include "model/tokenizer/text/split_behavior.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

// Splits "the-final--countdown" at its dashes.
std::vector<std::string> Split(SplitBehavior behavior, bool invert = false) {
  const std::string text = "the-final--countdown";
  const std::vector<RegexMatch> matches = {{3, 4}, {9, 10}, {10, 11}};
  std::vector<RegexMatch> words;
  AppendSplit(0, text.size(), matches, invert, behavior, &words);
  std::vector<std::string> result;
  for (const RegexMatch& word : words)
    result.push_back(text.substr(word.begin, word.end - word.begin));
  return result;
}

// The expected values are those of the documentation of tokenizers.
TEST(SplitBehaviorTest, Removed) {
  EXPECT_THAT(Split(SplitBehavior::kRemoved), ElementsAre("the", "final", "countdown"));
}

TEST(SplitBehaviorTest, Isolated) {
  EXPECT_THAT(Split(SplitBehavior::kIsolated),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
}

TEST(SplitBehaviorTest, MergedWithPrevious) {
  EXPECT_THAT(Split(SplitBehavior::kMergedWithPrevious),
              ElementsAre("the-", "final-", "-", "countdown"));
}

TEST(SplitBehaviorTest, MergedWithNext) {
  EXPECT_THAT(Split(SplitBehavior::kMergedWithNext),
              ElementsAre("the", "-final", "-", "-countdown"));
}

TEST(SplitBehaviorTest, Contiguous) {
  EXPECT_THAT(Split(SplitBehavior::kContiguous),
              ElementsAre("the", "-", "final", "--", "countdown"));
}

TEST(SplitBehaviorTest, InvertedRemovedKeepsMatches) {
  EXPECT_THAT(Split(SplitBehavior::kRemoved, /*invert=*/true), ElementsAre("-", "-", "-"));
}

TEST(SplitBehaviorTest, UnknownNameIsError) {
  EXPECT_THAT(ParseSplitBehavior("Sideways"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("Sideways")));
}

}  // namespace
}  // namespace phyllo
