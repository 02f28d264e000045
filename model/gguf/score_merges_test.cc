#include "model/gguf/score_merges.h"

#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(MergesByScoreTest, HighestScoreComesFirst) {
  EXPECT_THAT(MergesByScore({{"a", -9, 0}, {"b", -9, 1}, {"ba", -2, 2}, {"ab", -1, 3}}),
              ElementsAre(Pair("a", "b"), Pair("b", "a")));
}

TEST(MergesByScoreTest, EveryCutIsAMergeTheLongerLeftFirst) {
  EXPECT_THAT(
      MergesByScore({{"a", -9, 0}, {"b", -9, 1}, {"aa", -1, 2}, {"ab", -2, 3}, {"aab", -3, 4}}),
      ElementsAre(Pair("a", "a"), Pair("a", "b"), Pair("aa", "b"), Pair("a", "ab")));
}

TEST(MergesByScoreTest, EqualScoresAreInOrderOfLengthsInCharacters) {
  // Of two bytes each, but one character.
  EXPECT_THAT(
      MergesByScore(
          {{"\u00e9", -9, 0}, {"ab", -9, 1}, {"c", -9, 2}, {"\u00e9c", -1, 3}, {"abc", -1, 4}}),
      ElementsAre(Pair("ab", "c"), Pair("\u00e9", "c")));
}

TEST(MergesByScoreTest, CutsLieBetweenCharacters) {
  EXPECT_THAT(MergesByScore({{"\xC3", -9, 0}, {"\xA9", -9, 1}, {"\u00e9", -1, 2}}), IsEmpty());
}

}  // namespace
}  // namespace phyllo
