#include "clients/cli/terminal/exit_code.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

// The numbers are written out here because they are a promise.
TEST(ExitCodeTest, CallsMapToTheDocumentedNumbers) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("")), 130);
}

TEST(ExitCodeTest, StartsThatFailBlameTheModelUnlessTimeOrCtrlCDid) {
  EXPECT_EQ(ExitCodeOfStart(absl::NotFoundError("")), 4);
  EXPECT_EQ(ExitCodeOfStart(absl::FailedPreconditionError("")), 4);
  EXPECT_EQ(ExitCodeOfStart(absl::DeadlineExceededError("")), 3);
  EXPECT_EQ(ExitCodeOfStart(absl::CancelledError("")), 130);
}

TEST(ExitCodeTest, DescriptionHasCodeMessageAndRetryDelay) {
  EXPECT_EQ(DescribeError(absl::NotFoundError("no such model")), "NOT_FOUND: no such model");
  EXPECT_EQ(DescribeError(
                WithRetryDelay(absl::ResourceExhaustedError("queue is full"), absl::Seconds(2))),
            "RESOURCE_EXHAUSTED: queue is full (try again in 2s)");
}

}  // namespace
}  // namespace phyllo
