#include "clients/bench/sample_summary.h"

#include <numeric>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(SampleSummaryTest, PercentilesAreNearestRanks) {
  std::vector<double> samples(200);
  std::iota(samples.rbegin(), samples.rend(), 1.0);  // 200, 199, ..., 1
  const SampleSummary summary = Summarize(samples);
  EXPECT_EQ(summary.count, 200);
  EXPECT_EQ(summary.mean, 100.5);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.p50, 100);
  EXPECT_EQ(summary.p90, 180);
  EXPECT_EQ(summary.p99, 198);
  EXPECT_EQ(summary.max, 200);
}

TEST(SampleSummaryTest, RankIsRoundedUp) {
  const SampleSummary summary = Summarize({1, 2, 3});
  EXPECT_EQ(summary.p50, 2);
  EXPECT_EQ(summary.p90, 3);
  EXPECT_EQ(summary.p99, 3);
}

TEST(SampleSummaryTest, OneValueIsEveryPercentile) {
  const SampleSummary summary = Summarize({5});
  EXPECT_EQ(summary.p50, 5);
  EXPECT_EQ(summary.p99, 5);
}

TEST(SampleSummaryTest, NoValuesGiveZeros) {
  EXPECT_EQ(Summarize({}).count, 0);
  EXPECT_EQ(Summarize({}).p99, 0);
}

TEST(SampleSummaryTest, MedianOfAnEvenCountIsTheMiddle) {
  EXPECT_EQ(MedianOf({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(MedianOf({9, 1, 5}), 5);
}

}  // namespace
}  // namespace phyllo
