#include "model/tokenizer/text/string_trie.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> AllAt(const StringTrie& trie, absl::string_view text, size_t at) {
  std::vector<int32_t> values;
  trie.MatchAt(text, at, [&](int32_t value, size_t) {
    values.push_back(value);
    return false;
  });
  return values;
}

TEST(StringTrieTest, OffersLongestFirst) {
  StringTrie trie;
  trie.Insert("a", 1);
  trie.Insert("abc", 3);
  trie.Insert("ab", 2);
  EXPECT_THAT(AllAt(trie, "xabcd", 1), ElementsAre(3, 2, 1));
  EXPECT_THAT(AllAt(trie, "xab", 1), ElementsAre(2, 1));
}

TEST(StringTrieTest, StopsWhenAccepted) {
  StringTrie trie;
  trie.Insert("a", 1);
  trie.Insert("ab", 2);
  size_t length = 0;
  EXPECT_TRUE(trie.MatchAt("ab", 0, [&](int32_t, size_t n) {
    length = n;
    return true;
  }));
  EXPECT_EQ(length, 2u);
}

TEST(StringTrieTest, FirstValueStays) {
  StringTrie trie;
  trie.Insert("a", 1);
  trie.Insert("a", 2);
  EXPECT_THAT(AllAt(trie, "a", 0), ElementsAre(1));
}

TEST(StringTrieTest, KnowsFirstBytes) {
  StringTrie trie;
  EXPECT_TRUE(trie.empty());
  trie.Insert("\xE2\x96\x81", 0);
  EXPECT_TRUE(trie.MayBeginWith('\xE2'));
  EXPECT_FALSE(trie.MayBeginWith('a'));
}

}  // namespace
}  // namespace phyllo
