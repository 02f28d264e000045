#include "model/tokenizer/word_models/word_cache.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using Tokens = std::vector<WordToken>;

TEST(WordCacheTest, FindsWhatWasInserted) {
  WordCache cache;
  Tokens found;
  EXPECT_FALSE(cache.Find("word", &found));
  cache.Insert("word", {{7, 3}, {8, 1}});
  ASSERT_TRUE(cache.Find("word", &found));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].id, 8);
  EXPECT_EQ(found[1].length, 1);
}

TEST(WordCacheTest, TrailingZeroBytesAreDistinguished) {
  WordCache cache;
  Tokens found;
  cache.Insert("a", {{1, 1}});
  EXPECT_FALSE(cache.Find(std::string("a\0", 2), &found));
}

TEST(WordCacheTest, LongWordsAndLongResultsAreNotKept) {
  WordCache cache;
  Tokens found;
  cache.Insert(std::string(17, 'a'), {{1, 17}});
  EXPECT_FALSE(cache.Find(std::string(17, 'a'), &found));
  cache.Insert("abcdefg", Tokens(7, {1, 1}));
  EXPECT_FALSE(cache.Find("abcdefg", &found));
}

TEST(WordCacheTest, NeverReturnsTokensOfAnotherWord) {
  WordCache cache;
  for (int i = 0; i < 100000; ++i) cache.Insert(absl::StrCat("w", i), {{i, 1}});
  int kept = 0;
  for (int i = 0; i < 100000; ++i) {
    Tokens found;
    if (!cache.Find(absl::StrCat("w", i), &found)) continue;
    ++kept;
    EXPECT_EQ(found[0].id, i);
  }
  EXPECT_GT(kept, 4000);
}

}  // namespace
}  // namespace phyllo
