#include "services/transformer/engine/admission/waiting_bounds.h"

#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

TEST(WaitingBoundsTest, RefusesSequencesAndTokensBeyondTheLimits) {
  WaitingBounds bounds(/*max_sequences=*/2, /*max_tokens=*/10);
  PHYLLO_ASSERT_OK_AND_ASSIGN(WaitingPermit first, bounds.Enter(4));
  EXPECT_THAT(bounds.Enter(7).status(), StatusIs(absl::StatusCode::kResourceExhausted,
                                                 "the queue is full: max_queue_tokens is 10"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const WaitingPermit second, bounds.Enter(6));
  EXPECT_THAT(bounds.Enter(0).status(), StatusIs(absl::StatusCode::kResourceExhausted,
                                                 "the queue is full: max_queue_sequences is 2"));
  first.GiveBack();
  first.GiveBack();
  PHYLLO_EXPECT_OK(bounds.Enter(4));
}

TEST(WaitingBoundsTest, LongSequenceMayWaitAlone) {
  WaitingBounds bounds(/*max_sequences=*/2, /*max_tokens=*/10);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const WaitingPermit permit, bounds.Enter(1000));
  EXPECT_THAT(bounds.Enter(1).status(), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(WaitingBoundsTest, MovedPermitGivesBackOnce) {
  WaitingBounds bounds(/*max_sequences=*/1, /*max_tokens=*/10);
  {
    PHYLLO_ASSERT_OK_AND_ASSIGN(WaitingPermit permit, bounds.Enter(1));
    const WaitingPermit moved = std::move(permit);
    EXPECT_THAT(bounds.Enter(1).status(), StatusIs(absl::StatusCode::kResourceExhausted));
  }
  PHYLLO_EXPECT_OK(bounds.Enter(1));
}

}  // namespace
}  // namespace phyllo
