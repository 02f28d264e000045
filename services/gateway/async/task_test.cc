#include "services/gateway/async/task.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/gateway/async/async_mutex.h"
#include "services/gateway/async/task_group.h"
#include "services/gateway/testing/block_on.h"
#include "services/gateway/testing/gate.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

Task<int> Return(int value) { co_return value; }

Task<int> ReturnBehind(Gate& gate, int value) {
  co_await gate.Pass();
  co_return value;
}

Task<void> Append(Task<int> task, std::vector<int>& values) {
  values.push_back(co_await std::move(task));
}

Task<absl::StatusOr<int>> Half(int value) {
  if (value % 2 != 0) co_return absl::InvalidArgumentError("odd");
  co_return value / 2;
}

Task<absl::StatusOr<int>> Quarter(int value) {
  PHYLLO_CO_ASSIGN_OR_RETURN(const int half, co_await Half(value));
  co_return co_await Half(half);
}

TEST(TaskTest, BeginsWhenAwaited) {
  std::vector<int> values;
  { const Task<void> never = Append(Return(1), values); }
  EXPECT_THAT(values, ElementsAre());
  Spawn(Append(Return(2), values));
  EXPECT_THAT(values, ElementsAre(2));
}

TEST(TaskTest, GoesOnWhereWhatItWaitsForEnds) {
  Gate gate;
  std::thread opener([&gate] {
    while (gate.waiter_count() == 0) std::this_thread::yield();
    gate.Open();
  });
  EXPECT_EQ(BlockOn(ReturnBehind(gate, 3)), 3);
  opener.join();
}

TEST(TaskTest, MovesResultsThatCannotBeCopied) {
  const auto make = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(4); };
  EXPECT_EQ(*BlockOn(make()), 4);
}

TEST(TaskTest, IsGoneWhenItsResultIsThere) {
  const auto held = std::make_shared<int>(0);
  const auto hold = [](std::shared_ptr<int> value) -> Task<int> { co_return *value; };
  const auto count = [&]() -> Task<int64_t> {
    co_await hold(held);
    co_return held.use_count();
  };
  EXPECT_EQ(BlockOn(count()), 1);
}

TEST(TaskTest, MacrosReturnTheFirstError) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const int quarter, BlockOn(Quarter(8)));
  EXPECT_EQ(quarter, 2);
  EXPECT_THAT(BlockOn(Quarter(6)), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(BlockOn(Quarter(5)), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TaskTest, ManyTasksThatDoNotWaitTakeNoStack) {
  const auto sum = []() -> Task<int64_t> {
    int64_t total = 0;
    for (int i = 0; i < 100000; ++i) total += co_await Return(1);
    co_return total;
  };
  EXPECT_EQ(BlockOn(sum()), 100000);
}

TEST(TaskGroupTest, WaitsForAll) {
  Gate first, second;
  std::vector<int> values;
  TaskGroup group;
  group.Start(Append(ReturnBehind(first, 1), values));
  group.Start(Append(ReturnBehind(second, 2), values));
  bool joined = false;
  const auto join = [&]() -> Task<void> {
    co_await group.Join();
    joined = true;
  };
  Spawn(join());
  second.Open();
  EXPECT_FALSE(joined);
  first.Open();
  EXPECT_TRUE(joined);
  EXPECT_THAT(values, ElementsAre(2, 1));
}

TEST(TaskGroupTest, WithoutTasksHasNothingToWaitFor) {
  TaskGroup group;
  const auto join = [&]() -> Task<int> {
    co_await group.Join();
    co_return 1;
  };
  EXPECT_EQ(BlockOn(join()), 1);
}

TEST(AsyncMutexTest, IsHeldByOneTaskAfterTheOther) {
  AsyncMutex mutex;
  Gate gate;
  std::vector<int> values;
  const auto hold = [&](int value) -> Task<void> {
    const AsyncMutex::Holder holder = co_await mutex.Acquire();
    values.push_back(value);
    co_await gate.Pass();
    values.push_back(value);
  };
  for (const int value : {1, 2, 3}) Spawn(hold(value));
  EXPECT_THAT(values, ElementsAre(1));
  gate.Open();
  EXPECT_THAT(values, ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST(AsyncMutexTest, ProtectsWhatTasksOfManyThreadsShare) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 2000;
  AsyncMutex mutex;
  int64_t count = 0;
  TaskGroup group;
  const auto add = [&]() -> Task<void> {
    const AsyncMutex::Holder holder = co_await mutex.Acquire();
    ++count;
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTasks; ++i) group.Start(add());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto join = [&]() -> Task<int> {
    co_await group.Join();
    co_return 0;
  };
  BlockOn(join());
  EXPECT_EQ(count, kThreads * kTasks);
}

}  // namespace
}  // namespace phyllo
