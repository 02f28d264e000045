#include "services/common/calls/call_limit.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(CallLimitTest, ReturnsResourceExhaustedWhenAsManyAreUnderWay) {
  CallLimit limit(2);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const CallPermit first, limit.Admit());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const CallPermit second, limit.Admit());
  const absl::Status refused = limit.Admit().status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at once: 2")));
  EXPECT_TRUE(GetRetryDelay(refused).has_value());
}

TEST(CallLimitTest, AdmitsAnotherWhenPermitDies) {
  CallLimit limit(1);
  std::optional<CallPermit> permit = limit.Admit().value();
  EXPECT_THAT(limit.Admit().status(), StatusIs(absl::StatusCode::kResourceExhausted));
  permit.reset();
  PHYLLO_EXPECT_OK(limit.Admit().status());
}

TEST(CallLimitTest, MovedPermitGivesItsPlaceBackOnce) {
  CallLimit limit(1);
  {
    CallPermit permit = limit.Admit().value();
    const CallPermit moved = std::move(permit);
  }
  PHYLLO_ASSERT_OK_AND_ASSIGN(const CallPermit only, limit.Admit());
  EXPECT_THAT(limit.Admit().status(), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace phyllo
