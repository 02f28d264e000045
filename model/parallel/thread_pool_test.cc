#include "model/parallel/thread_pool.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<ThreadPool> MakePool(int num_threads,
                                     absl::Duration spin = absl::Microseconds(50)) {
  return ThreadPool::Create({.num_threads = num_threads, .pin = false, .spin = spin}).value();
}

TEST(ThreadPoolTest, RunsEveryTaskOnce) {
  for (int num_threads : {1, 2, 5}) {
    const std::unique_ptr<ThreadPool> pool = MakePool(num_threads);
    for (int64_t num_tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(num_tasks));
      pool->ParallelFor(num_tasks, [&](int64_t task, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, num_threads);
        runs[static_cast<size_t>(task)].fetch_add(1);
      });
      for (const std::atomic<int>& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPoolTest, NeverOverlapsTwoTasksOfOneWorker) {
  const std::unique_ptr<ThreadPool> pool = MakePool(4);
  // Plain integers: a data race here is a finding of tsan.
  std::vector<int64_t> sums(4 * 16, 0);
  for (int round = 0; round < 200; ++round) {
    pool->ParallelFor(
        50, [&](int64_t task, int worker) { sums[static_cast<size_t>(worker) * 16] += task; });
  }
  EXPECT_EQ(sums[0] + sums[16] + sums[32] + sums[48], 200 * (49 * 50 / 2));
}

TEST(ThreadPoolTest, ShowsTheCallerWhatTheTasksWrote) {
  const std::unique_ptr<ThreadPool> pool = MakePool(2);
  std::vector<int64_t> values(64);
  for (int64_t round = 0; round < 2000; ++round) {
    pool->ParallelFor(64,
                      [&](int64_t task, int) { values[static_cast<size_t>(task)] = task * round; });
    for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i * round);
  }
}

TEST(ThreadPoolTest, WakesSleepingWorkersWhenItNeverSpins) {
  const std::unique_ptr<ThreadPool> pool = MakePool(3, absl::ZeroDuration());
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 500; ++round) {
    pool->ParallelFor(10, [&](int64_t task, int) { sum.fetch_add(task); });
  }
  EXPECT_EQ(sum.load(), 500 * 45);
}

TEST(ThreadPoolTest, ReturnsInvalidArgumentWhenThreadCountIsOutOfRange) {
  EXPECT_THAT(ThreadPool::Create({.num_threads = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_threads is 0")));
  EXPECT_THAT(ThreadPool::Create({.num_threads = 5000}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5000")));
}

TEST(ThreadPoolTest, ReturnsInvalidArgumentWhenSpinIsNegative) {
  EXPECT_THAT(ThreadPool::Create({.num_threads = 1, .spin = -absl::Seconds(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("spin")));
}

}  // namespace
}  // namespace phyllo
