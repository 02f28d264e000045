#include "services/transformer/engine/speculation/ngram_index.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/sampling/philox.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

NgramIndex::Match FindIn(const std::vector<int32_t>& token_ids) {
  NgramIndex index;
  index.Extend(token_ids);
  return index.Find(token_ids);
}

// By comparing with every earlier place.
NgramIndex::Match ReferenceFind(const std::vector<int32_t>& token_ids) {
  const auto last = static_cast<int64_t>(token_ids.size()) - 1;
  NgramIndex::Match best;
  for (int64_t end = last - 1; end >= 1; --end) {
    int64_t length = 0;
    while (length <= end && length < NgramIndex::kMaxMatch &&
           token_ids[end - length] == token_ids[last - length])
      ++length;
    if (length >= NgramIndex::kMinMatch && length > best.length) best = {end + 1, length};
  }
  return best;
}

TEST(NgramIndexTest, FindsNothingInATextWithoutRepetition) {
  EXPECT_EQ(FindIn({}).length, 0);
  EXPECT_EQ(FindIn({1}).length, 0);
  EXPECT_EQ(FindIn({1, 2, 3, 4}).length, 0);
  EXPECT_EQ(FindIn({1, 2, 3, 1}).length, 0) << "one token is not enough";
}

TEST(NgramIndexTest, FindsThePlaceAfterThePair) {
  const NgramIndex::Match match = FindIn({9, 1, 2, 3, 8, 1, 2});
  EXPECT_EQ(match.length, 2);
  EXPECT_EQ(match.next, 3);
}

TEST(NgramIndexTest, PrefersTheLongerToTheLaterMatch) {
  const NgramIndex::Match match = FindIn({5, 1, 2, 3, 6, 1, 2, 4, 5, 1, 2});
  EXPECT_EQ(match.length, 3);
  EXPECT_EQ(match.next, 3);
}

TEST(NgramIndexTest, PrefersTheLatestOfEqualMatches) {
  EXPECT_EQ(FindIn({1, 2, 3, 1, 2, 4, 7, 1, 2}).next, 5);
}

TEST(NgramIndexTest, FollowsAPlaceBehindManyShorterMatches) {
  // The passage is met again after so many other places that look alike that a search alone would
  // not come to it.
  std::vector<int32_t> text = {50, 51, 52, 53, 1, 2, 54};
  for (int32_t i = 0; i < 2 * NgramIndex::kMaxCandidates; ++i) {
    text.insert(text.end(), {1, 2, 100 + i});
  }
  NgramIndex index;
  for (const int32_t token : {50, 51, 52, 53, 1, 2}) {
    text.push_back(token);
    index.Extend(text);
    index.Find(text);
  }
  EXPECT_EQ(index.Find(text).next, 6);
}

TEST(NgramIndexTest, EqualsAComparisonWithEveryPlace) {
  for (int round = 0; round < 20; ++round) {
    std::vector<int32_t> text;
    NgramIndex index;
    for (int64_t i = 0; i < 600; ++i) {
      text.push_back(static_cast<int32_t>(UniformDraw(3, round, i) * 14));
      // Several tokens at a time, as a draft brings them.
      if (UniformDraw(4, round, i) < 0.5) continue;
      index.Extend(text);
      const NgramIndex::Match match = index.Find(text);
      const NgramIndex::Match want = ReferenceFind(text);
      ASSERT_EQ(match.length, want.length) << round << " " << i;
      if (want.length > 0) {
        ASSERT_EQ(match.next, want.next) << round << " " << i;
      }
    }
  }
}

TEST(NgramIndexTest, TokensWithoutIdsAreTokensLikeOthers) {
  EXPECT_EQ(FindIn({-1, -1, 3, -1, -1}).next, 2);
}

TEST(NgramIndexTest, ContinuesAfterTheMatch) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 1, 2};
  std::vector<int32_t> out;
  NgramIndex::Continue(text, FindIn(text), 2, out);
  EXPECT_THAT(out, ElementsAre(3, 4));
}

TEST(NgramIndexTest, ContinuesALoopBeyondTheEndOfTheText) {
  const std::vector<int32_t> text = {7, 8, 9, 7, 8};
  std::vector<int32_t> out;
  NgramIndex::Continue(text, FindIn(text), 7, out);
  EXPECT_THAT(out, ElementsAre(9, 7, 8, 9, 7, 8, 9));
}

}  // namespace
}  // namespace phyllo
