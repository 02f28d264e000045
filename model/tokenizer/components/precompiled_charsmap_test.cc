#include "model/tokenizer/components/precompiled_charsmap.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::string Units(const std::vector<uint32_t>& units) {
  std::string bytes;
  for (const uint32_t unit : units) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(unit >> shift));
  }
  return bytes;
}

// "a" becomes "x" and "ab" becomes "yz". Nodes: the root at 0, its children at 256 + byte; those of
// "a" at 512 + byte, its value at 512; the value of "ab" at 768.
std::string TwoRules() {
  std::vector<uint32_t> units(1024);
  units[0] = 256u << 10;
  units[256 ^ 'a'] = (256u ^ 'a' ^ 512u) << 10 | 1u << 8 | 'a';
  units[512] = 0x80000000u | 0;
  units[512 ^ 'b'] = (512u ^ 'b' ^ 768u) << 10 | 1u << 8 | 'b';
  units[768] = 0x80000000u | 2;
  const std::string trie = Units(units);
  return Units({static_cast<uint32_t>(trie.size())}) + trie + std::string("x\0yz\0", 5);
}

TEST(PrecompiledCharsmapTest, FindsShortestAndLongestRule) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PrecompiledCharsmap map,
                              PrecompiledCharsmap::Parse(TwoRules()));
  EXPECT_EQ(map.FindShortest("abc").length, 1u);
  EXPECT_EQ(map.FindShortest("abc").replacement, "x");
  EXPECT_EQ(map.FindLongest("abc").length, 2u);
  EXPECT_EQ(map.FindLongest("abc").replacement, "yz");
  EXPECT_EQ(map.FindLongest("acb").length, 1u);
  EXPECT_EQ(map.FindLongest("b").length, 0u);
  EXPECT_EQ(map.FindLongest("").length, 0u);
}

TEST(PrecompiledCharsmapTest, ZeroByteEndsText) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PrecompiledCharsmap map,
                              PrecompiledCharsmap::Parse(TwoRules()));
  EXPECT_EQ(map.FindLongest(absl::string_view("\0a", 2)).length, 0u);
}

TEST(PrecompiledCharsmapTest, EmptyMapHasNoRules) {
  EXPECT_EQ(PrecompiledCharsmap().FindLongest("a").length, 0u);
}

TEST(PrecompiledCharsmapTest, SizesThatDoNotFitAreErrors) {
  const auto parse = [](const std::string& bytes) {
    return PrecompiledCharsmap::Parse(bytes).status();
  };
  EXPECT_THAT(parse("abc"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 bytes")));
  EXPECT_THAT(parse(Units({4})), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(parse(Units({3, 0})), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(parse(Units({0}) + "\xFF"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
}

TEST(PrecompiledCharsmapTest, RulesThatPointOutsideAreNone) {
  std::string bytes = TwoRules();
  bytes.resize(bytes.size() - 5);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PrecompiledCharsmap map, PrecompiledCharsmap::Parse(bytes));
  EXPECT_EQ(map.FindLongest("ab").length, 0u);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PrecompiledCharsmap all_ones,
                              PrecompiledCharsmap::Parse(Units({8, 0xFFFFFFFF, 0xFFFFFFFF}) + "x"));
  EXPECT_EQ(all_ones.FindLongest("ab").length, 0u);
}

}  // namespace
}  // namespace phyllo
