#include "services/gateway/encodings/concurrently.h"

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

TEST(ForEachConcurrentlyTest, CallsEveryIndexOnce) {
  std::vector<std::atomic<int>> calls(100);
  PHYLLO_EXPECT_OK(ForEachConcurrently(100, 4, [&](int64_t index) {
    ++calls[index];
    return absl::OkStatus();
  }));
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
}

TEST(ForEachConcurrentlyTest, RunsAsManyAtOnceAsThereAreWorkers) {
  // Ends only if three calls are under way together.
  absl::Barrier* const barrier = new absl::Barrier(3);
  PHYLLO_EXPECT_OK(ForEachConcurrently(3, 3, [&](int64_t) {
    if (barrier->Block()) delete barrier;
    return absl::OkStatus();
  }));
}

TEST(ForEachConcurrentlyTest, ReturnsTheErrorOfTheLowestIndex) {
  absl::Barrier* const barrier = new absl::Barrier(3);
  EXPECT_THAT(ForEachConcurrently(3, 3,
                                  [&](int64_t index) {
                                    if (barrier->Block()) delete barrier;
                                    return absl::InternalError(absl::StrCat("index ", index));
                                  }),
              StatusIs(absl::StatusCode::kInternal, "index 0"));
}

TEST(ForEachConcurrentlyTest, HandsOutNothingAfterAnError) {
  int64_t last = -1;
  EXPECT_THAT(ForEachConcurrently(100, 1,
                                  [&](int64_t index) {
                                    last = index;
                                    return index == 5 ? absl::InternalError("five")
                                                      : absl::OkStatus();
                                  }),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(last, 5);
}

TEST(ForEachConcurrentlyTest, DoesNothingForNothing) {
  PHYLLO_EXPECT_OK(ForEachConcurrently(0, 4, [](int64_t) { return absl::InternalError("call"); }));
}

}  // namespace
}  // namespace phyllo
