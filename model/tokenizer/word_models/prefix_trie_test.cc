#include "model/tokenizer/word_models/prefix_trie.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Found = std::vector<std::pair<size_t, int32_t>>;

Found Prefixes(const PrefixTrie& trie, absl::string_view text) {
  Found found;
  trie.ForEachPrefix(text,
                     [&](size_t length, int32_t value) { found.emplace_back(length, value); });
  return found;
}

TEST(PrefixTrieTest, FindsPrefixesShortestFirst) {
  const PrefixTrie trie({{"abc", 0}, {"a", 1}, {"abcd", 2}, {"b", 3}});
  EXPECT_THAT(Prefixes(trie, "abcx"), ElementsAre(Pair(1, 1), Pair(3, 0)));
  EXPECT_THAT(Prefixes(trie, "ab"), ElementsAre(Pair(1, 1)));
  EXPECT_THAT(Prefixes(trie, "x"), IsEmpty());
  EXPECT_THAT(Prefixes(trie, ""), IsEmpty());
}

TEST(PrefixTrieTest, LastOfEqualStringsCounts) {
  EXPECT_THAT(Prefixes(PrefixTrie({{"a", 1}, {"a", 2}}), "a"), ElementsAre(Pair(1, 2)));
}

TEST(PrefixTrieTest, EmptyTrieAndEmptyStringsFindNothing) {
  EXPECT_THAT(Prefixes(PrefixTrie(), "a"), IsEmpty());
  EXPECT_THAT(Prefixes(PrefixTrie({{"", 1}}), "a"), IsEmpty());
}

TEST(PrefixTrieTest, AgreesWithDefinition) {
  std::mt19937 random(3);
  const auto string = [&](size_t max_size) {
    std::string result(random() % (max_size + 1), '\0');
    for (char& c : result) c = static_cast<char>("ab\0\xFF"[random() % 4]);
    return result;
  };
  std::vector<std::string> strings;
  for (int i = 0; i < 300; ++i) strings.push_back(string(6));
  std::vector<PrefixTrie::Entry> entries;
  for (const std::string& entry : strings) {
    entries.push_back({entry, static_cast<int32_t>(entries.size())});
  }
  const PrefixTrie trie(entries);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::string text = string(8);
    Found expected;
    for (size_t length = 1; length <= text.size(); ++length) {
      int32_t value = -1;
      for (const PrefixTrie::Entry& entry : entries) {
        if (entry.text == absl::string_view(text).substr(0, length)) value = entry.value;
      }
      if (value >= 0) expected.emplace_back(length, value);
    }
    EXPECT_EQ(Prefixes(trie, text), expected);
  }
}

}  // namespace
}  // namespace phyllo
