#include "clients/bench/arrival_schedule.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(ArrivalScheduleTest, MeanRateAndSpreadAreThoseOfAPoissonProcess) {
  ArrivalSchedule schedule(/*rate=*/4, /*seed=*/1);
  constexpr int kCount = 40000;
  double last = 0, sum_of_squares = 0;
  int long_gaps = 0;
  for (int i = 0; i < kCount; ++i) {
    const double time = schedule.Next();
    ASSERT_GE(time, last);
    sum_of_squares += (time - last) * (time - last);
    long_gaps += time - last > 0.5;
    last = time;
  }
  const double mean = last / kCount;
  // Of exponential gaps: the deviation equals the mean, and exp(-2) of them are over twice it.
  EXPECT_NEAR(mean, 0.25, 0.005);
  EXPECT_NEAR(std::sqrt(sum_of_squares / kCount - mean * mean), 0.25, 0.01);
  EXPECT_NEAR(long_gaps / static_cast<double>(kCount), std::exp(-2), 0.01);
}

TEST(ArrivalScheduleTest, SeedDecidesTheTimes) {
  ArrivalSchedule a(10, 7), b(10, 7), c(10, 8);
  const double first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, c.Next());
}

}  // namespace
}  // namespace phyllo
