#include "model/base/memory_budget.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

TEST(MemoryBudgetTest, RefusesWhatIsOverTheLimitNamingIt) {
  MemoryBudget budget("max_request_bytes", 100);
  MemoryReservation reservation(budget);
  PHYLLO_EXPECT_OK(reservation.Grow(70));
  const absl::Status status = reservation.Grow(31);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("max_request_bytes is 100"));
  EXPECT_EQ(budget.used_bytes(), 70);
  PHYLLO_EXPECT_OK(reservation.Grow(30));
}

TEST(MemoryBudgetTest, RefusesWhatWouldOverflow) {
  MemoryBudget budget("limit", 100);
  MemoryReservation reservation(budget);
  EXPECT_THAT(reservation.Grow(INT64_MAX), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(MemoryBudgetTest, PartsGiveBackWhatTheyHold) {
  MemoryBudget budget("limit", 100);
  MemoryReservation whole(budget);
  PHYLLO_ASSERT_OK(whole.Grow(100));
  MemoryReservation part = whole.Split(40);
  EXPECT_EQ(whole.bytes(), 60);
  EXPECT_EQ(part.bytes(), 40);
  MemoryReservation moved = std::move(part);
  EXPECT_EQ(budget.used_bytes(), 100);
  moved.Clear();
  EXPECT_EQ(budget.used_bytes(), 60);
  whole = MemoryReservation(budget);
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(MemoryBudgetTest, ReservationOfNoBudgetGrowsWithoutLimit) {
  MemoryReservation reservation;
  PHYLLO_EXPECT_OK(reservation.Grow(int64_t{1} << 50));
  EXPECT_EQ(reservation.Split(1).bytes(), 1);
}

TEST(MemoryBudgetTest, ThreadsNeverHoldMoreThanTheLimitTogether) {
  MemoryBudget budget("limit", 1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&budget] {
      for (int round = 0; round < 10000; ++round) {
        MemoryReservation reservation(budget);
        while (reservation.Grow(97).ok()) EXPECT_LE(budget.used_bytes(), 1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.used_bytes(), 0);
}

}  // namespace
}  // namespace phyllo
