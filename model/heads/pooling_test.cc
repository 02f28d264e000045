#include "model/heads/pooling.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatEq;

constexpr int64_t kHiddenSize = 2;

// Vectors of `count` tokens whose sum in float would depend on its order.
std::vector<float> Vectors(int64_t count) {
  std::vector<float> vectors;
  for (int64_t i = 0; i < count; ++i) {
    vectors.push_back(i % 2 == 0 ? 1.0e7f + static_cast<float>(i) : -1.0e7f);
    vectors.push_back(1.0f / static_cast<float>(3 + i));
  }
  return vectors;
}

// Feeds the vectors in chunks, only the wanted ones, as the engine does.
std::vector<float> Pool(Pooling pooling, std::vector<float> vectors, int64_t chunk) {
  const int64_t count = static_cast<int64_t>(vectors.size()) / kHiddenSize;
  Pooler pooler(pooling, count, kHiddenSize);
  const MatrixView<const float> all = {vectors.data(), count, kHiddenSize, kHiddenSize};
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t end = std::min(begin + chunk, count);
    const Pooler::Positions wanted = pooler.Wanted(begin, end);
    if (!wanted.empty()) {
      pooler.SkipTo(wanted.begin);
      pooler.Add(all.SubRows(wanted.begin, wanted.end - wanted.begin));
    }
    pooler.SkipTo(end);
  }
  return pooler.Finish();
}

TEST(PoolerTest, LastIsTheLastTokensVector) {
  EXPECT_THAT(Pool(Pooling::kLast, {1, 2, 3, 4, 5, 6}, 3), ElementsAre(5, 6));
}

TEST(PoolerTest, ClsIsTheFirstTokensVector) {
  EXPECT_THAT(Pool(Pooling::kCls, {1, 2, 3, 4, 5, 6}, 2), ElementsAre(1, 2));
}

TEST(PoolerTest, MeanIsTheMeanOfAll) {
  EXPECT_THAT(Pool(Pooling::kMean, {1, 2, 3, 4, 5, 9}, 2), ElementsAre(3, 5));
}

TEST(PoolerTest, NoneKeepsAll) {
  EXPECT_THAT(Pool(Pooling::kNone, {1, 2, 3, 4, 5, 6}, 2), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(PoolerTest, ResultDoesNotDependOnTheChunks) {
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean, Pooling::kCls, Pooling::kNone}) {
    const std::vector<float> whole = Pool(pooling, Vectors(37), 37);
    for (const int64_t chunk : {1, 2, 7, 36})
      EXPECT_THAT(Pool(pooling, Vectors(37), chunk), ElementsAreArray(whole)) << chunk;
  }
}

TEST(PoolerTest, OnlyTheVectorsOfTheResultAreWanted) {
  const Pooler last(Pooling::kLast, 10, kHiddenSize);
  EXPECT_TRUE(last.Wanted(0, 9).empty());
  EXPECT_EQ(last.Wanted(4, 10).begin, 9);
  const Pooler cls(Pooling::kCls, 10, kHiddenSize);
  EXPECT_EQ(cls.Wanted(0, 4).end, 1);
  EXPECT_TRUE(cls.Wanted(4, 10).empty());
}

TEST(PoolerTest, RestartForgetsWhatWasAdded) {
  const std::vector<float> vectors = {1, 2, 3, 4};
  for (const Pooling pooling : {Pooling::kMean, Pooling::kNone}) {
    Pooler pooler(pooling, 2, kHiddenSize);
    pooler.Add({vectors.data(), 1, kHiddenSize, kHiddenSize});
    pooler.Restart();
    EXPECT_EQ(pooler.next_position(), 0);
    pooler.Add({vectors.data(), 2, kHiddenSize, kHiddenSize});
    EXPECT_TRUE(pooler.complete());
    EXPECT_EQ(pooler.Finish(), Pool(pooling, vectors, 2));
  }
}

TEST(TruncateAndNormalizeTest, TruncatesBeforeItNormalizes) {
  std::vector<float> vector = {3, 4, 12};
  TruncateAndNormalize(2, true, vector);
  EXPECT_THAT(vector, ElementsAre(FloatEq(0.6f), FloatEq(0.8f)));
}

TEST(TruncateAndNormalizeTest, LeavesTheLengthWithoutNormalize) {
  std::vector<float> vector = {3, 4, 12};
  TruncateAndNormalize(3, false, vector);
  EXPECT_THAT(vector, ElementsAre(3, 4, 12));
}

TEST(TruncateAndNormalizeTest, LeavesZerosAsTheyAre) {
  std::vector<float> vector = {0, 0};
  TruncateAndNormalize(2, true, vector);
  EXPECT_THAT(vector, ElementsAre(0, 0));
}

TEST(TruncateAndNormalizeTest, NormalizesValuesWhoseSquaresOverflowFloat) {
  std::vector<float> vector = {3e30f, 4e30f};
  TruncateAndNormalize(2, true, vector);
  EXPECT_THAT(vector, ElementsAre(FloatEq(0.6f), FloatEq(0.8f)));
}

}  // namespace
}  // namespace phyllo
