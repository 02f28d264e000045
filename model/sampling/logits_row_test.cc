#include "model/sampling/logits_row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::vector<float> RandomRow(int64_t size, int seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, 4.0f);
  std::vector<float> row(size);
  for (float& value : row) value = normal(generator);
  return row;
}

TEST(ExpNonPositiveTest, IsWithinItsErrorBoundEverywhere) {
  std::vector<float> values = {0.0f};
  for (double x = -87.0; x <= 0.0; x += 0.00371) values.push_back(static_cast<float>(x));
  std::vector<float> results = values;
  ExpNonPositive(absl::MakeSpan(results));
  EXPECT_EQ(results[0], 1.0f);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(results[i] / std::exp(static_cast<double>(values[i])), 1.0, 2e-7) << values[i];
}

TEST(ExpNonPositiveTest, IsZeroFarBelow) {
  std::vector<float> values = {-88.0f, -std::numeric_limits<float>::infinity(), -1.0f};
  ExpNonPositive(absl::MakeSpan(values));
  EXPECT_EQ(values[0], 0.0f);
  EXPECT_EQ(values[1], 0.0f);
  EXPECT_NEAR(values[2], std::exp(-1.0), 1e-7);
}

TEST(ExpNonPositiveTest, DoesNotDependOnTheNeighbours) {
  for (int64_t size = 1; size < 40; ++size) {
    std::vector<float> values(size, -1.25f);
    ExpNonPositive(absl::MakeSpan(values));
    for (const float value : values) EXPECT_EQ(value, values[0]);
  }
}

TEST(IncludeLogitsTest, GivesTheArgMaxInWhateverOrderThePiecesCome) {
  for (const int64_t size : {1, 7, 8, 9, 200, 333}) {
    std::vector<float> row = RandomRow(size, static_cast<int>(size));
    row[size / 2] = row.back() = 100.0f;  // equals, in two pieces unless there is but one
    std::vector<LargestLogit> workers(2);
    constexpr int64_t kPiece = 64;
    for (int64_t begin = (size - 1) / kPiece * kPiece; begin >= 0; begin -= kPiece) {
      IncludeLogits(absl::MakeConstSpan(row).subspan(begin, kPiece), static_cast<int32_t>(begin),
                    workers[begin / kPiece % 2]);
    }
    LargestLogit largest;
    for (const LargestLogit& worker : workers) IncludeLargest(worker, largest);
    EXPECT_EQ(largest.token_id, ArgMax(row)) << size;
    EXPECT_EQ(largest.logit, 100.0f);
    EXPECT_TRUE(largest.finite);
  }
}

TEST(IncludeLogitsTest, KeepsInMindThatALogitWasNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const size_t place : {0, 3, 11, 20}) {
      std::vector<float> piece(21, 1.0f);
      piece[place] = bad;
      LargestLogit largest;
      IncludeLogits(piece, 0, largest);
      IncludeLogits({2.0f}, 21, largest);
      EXPECT_FALSE(largest.finite) << bad << " at " << place;
      LargestLogit all;
      IncludeLargest(largest, all);
      EXPECT_FALSE(all.finite) << bad << " at " << place;
    }
  }
}

TEST(SummarizeLogitsTest, EqualsDoublePrecisionForOddSizes) {
  for (const int64_t size : {1, 2, 15, 16, 17, 4095, 4097, 50257}) {
    const std::vector<float> row = RandomRow(size, static_cast<int>(size));
    PHYLLO_ASSERT_OK_AND_ASSIGN(const LogitsSummary summary, SummarizeLogits(row));
    double sum = 0.0;
    for (const float value : row) sum += std::exp(static_cast<double>(value));
    EXPECT_EQ(summary.max, *std::max_element(row.begin(), row.end()));
    EXPECT_NEAR(summary.log_sum_exp, std::log(sum), 1e-6)
        << size;  // f32 partial sums of at most 256 terms
  }
}

TEST(SummarizeLogitsTest, ReturnsInternalNamingTheIndexWhenNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const int index : {0, 16, 36}) {
      std::vector<float> row = RandomRow(37, 1);
      row[index] = bad;
      EXPECT_THAT(SummarizeLogits(row),
                  StatusIs(absl::StatusCode::kInternal,
                           HasSubstr("logit " + std::to_string(index) + " of 37")));
    }
  }
}

TEST(RankOfTest, CountsStrictlyGreaterLogits) {
  const std::vector<float> row = {1.0f, 3.0f, 2.0f, 3.0f};
  EXPECT_EQ(RankOf(row, 1), 1);
  EXPECT_EQ(RankOf(row, 3), 1);
  EXPECT_EQ(RankOf(row, 2), 3);
  EXPECT_EQ(RankOf(row, 0), 4);
}

TEST(TopLogprobsTest, EqualsFullSortWithLowerIdFirstAmongEquals) {
  std::vector<float> row = RandomRow(1000, 3);
  for (float& value : row) value = std::round(value);  // many equals
  PHYLLO_ASSERT_OK_AND_ASSIGN(const LogitsSummary summary, SummarizeLogits(row));
  std::vector<int32_t> order(row.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return row[a] > row[b]; });
  for (const int64_t count : {0, 1, 5, 128}) {
    const std::vector<TokenLogprob> top = TopLogprobs(row, summary, count);
    ASSERT_EQ(static_cast<int64_t>(top.size()), count);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(top[i].token_id, order[i]);
      EXPECT_NEAR(top[i].logprob, row[order[i]] - summary.log_sum_exp, 1e-6);
    }
  }
}

TEST(ArgMaxTest, PicksTheLowestIndexAmongEquals) {
  EXPECT_EQ(ArgMax(std::vector<float>{1.0f, 5.0f, 5.0f, 2.0f}), 1);
  std::vector<float> row(100, -1.0f);
  row[99] = 0.5f;
  EXPECT_EQ(ArgMax(row), 99);
  row[63] = 0.5f;
  EXPECT_EQ(ArgMax(row), 63);
}

TEST(KthLargestTest, EqualsSortedOrder) {
  std::vector<float> scratch;
  for (const bool with_equals : {false, true}) {
    std::vector<float> row = RandomRow(777, 5);
    if (with_equals) {
      for (float& value : row) value = std::round(value);
    }
    std::vector<float> sorted = row;
    std::sort(sorted.begin(), sorted.end(), std::greater<float>());
    for (const int64_t count : {1, 2, 40, 388, 776, 777})
      EXPECT_EQ(KthLargest(row, count, scratch), sorted[count - 1]) << count;
  }
}

TEST(KthLargestTest, IsNegativeInfinityWhenFewerAreAboveIt) {
  std::vector<float> scratch;
  const float banned = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(KthLargest(std::vector<float>{banned, 1.0f, banned}, 2, scratch), banned);
}

}  // namespace
}  // namespace phyllo
