#include "services/gateway/encodings/concurrently.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/gateway/testing/block_on.h"
#include "services/gateway/testing/gate.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

TEST(ForEachConcurrentlyTest, CallsEveryIndexOnce) {
  std::vector<int64_t> calls;
  const auto call = [&](int64_t index) -> Task<absl::Status> {
    calls.push_back(index);
    co_return absl::OkStatus();
  };
  PHYLLO_EXPECT_OK(BlockOn(ForEachConcurrently(5, 4, call)));
  EXPECT_THAT(calls, ElementsAre(0, 1, 2, 3, 4));
}

TEST(ForEachConcurrentlyTest, RunsAsManyAtOnceAsThereAreWorkers) {
  Gate gate;
  const auto call = [&](int64_t index) -> Task<absl::Status> {
    if (index < 2) co_await gate.Pass();
    if (index == 2) {
      EXPECT_EQ(gate.waiter_count(), 2);
      gate.Open();
    }
    co_return absl::OkStatus();
  };
  PHYLLO_EXPECT_OK(BlockOn(ForEachConcurrently(9, 3, call)));
}

TEST(ForEachConcurrentlyTest, ReturnsTheErrorOfTheLowestIndex) {
  Gate gate;
  const auto call = [&](int64_t index) -> Task<absl::Status> {
    if (index < 2) co_await gate.Pass();
    if (index == 2) gate.Open();
    co_return absl::InternalError(absl::StrCat("index ", index));
  };
  EXPECT_THAT(BlockOn(ForEachConcurrently(3, 3, call)),
              StatusIs(absl::StatusCode::kInternal, "index 0"));
}

TEST(ForEachConcurrentlyTest, HandsOutNothingAfterAnError) {
  int64_t last = -1;
  const auto call = [&](int64_t index) -> Task<absl::Status> {
    last = index;
    co_return index == 5 ? absl::InternalError("five") : absl::OkStatus();
  };
  EXPECT_THAT(BlockOn(ForEachConcurrently(100, 1, call)), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(last, 5);
}

TEST(ForEachConcurrentlyTest, DoesNothingForNothing) {
  const auto call = [](int64_t) -> Task<absl::Status> { co_return absl::InternalError("call"); };
  PHYLLO_EXPECT_OK(BlockOn(ForEachConcurrently(0, 4, call)));
}

}  // namespace
}  // namespace phyllo
