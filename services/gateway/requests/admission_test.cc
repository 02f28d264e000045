#include "services/gateway/requests/admission.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(AdmissionTest, RefusesRequestsBeyondLimitWithRetryDelay) {
  Admission admission({.max_requests = 1, .max_tokens = 10});
  PHYLLO_ASSERT_OK_AND_ASSIGN(const AdmissionPermit permit, admission.AdmitRequest());
  const absl::Status status = admission.AdmitRequest().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 1")));
  EXPECT_TRUE(GetRetryDelay(status).has_value());
  EXPECT_EQ(GetReason(status)->metadata.at("max_requests"), "1");
}

TEST(AdmissionTest, TakesRequestWhenAnotherHasEnded) {
  Admission admission({.max_requests = 1, .max_tokens = 10});
  { PHYLLO_ASSERT_OK_AND_ASSIGN(const AdmissionPermit permit, admission.AdmitRequest()); }
  PHYLLO_EXPECT_OK(admission.AdmitRequest());
}

TEST(AdmissionTest, RefusesTokensBeyondLimitAndTakesNone) {
  Admission admission({.max_requests = 2, .max_tokens = 10});
  PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit first, admission.AdmitRequest());
  PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit second, admission.AdmitRequest());
  PHYLLO_ASSERT_OK(first.AddTokens(6));
  EXPECT_THAT(second.AddTokens(5), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr("6 tokens under way, at most 10")));
  EXPECT_EQ(admission.token_count(), 6);
  PHYLLO_EXPECT_OK(second.AddTokens(4));
}

TEST(AdmissionTest, TakesOversizedRequestWhenItIsAlone) {
  Admission admission({.max_requests = 2, .max_tokens = 10});
  PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit permit, admission.AdmitRequest());
  PHYLLO_EXPECT_OK(permit.AddTokens(11));
}

TEST(AdmissionTest, CountsEveryChoiceAsARequestUntilItEnds) {
  Admission admission({.max_requests = 4});
  PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit first, admission.AdmitRequest());
  {
    PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit second, admission.AdmitRequest());
    PHYLLO_ASSERT_OK(second.AddRequests(2));
    EXPECT_THAT(first.AddRequests(1), StatusIs(absl::StatusCode::kResourceExhausted,
                                               HasSubstr("4 requests under way, at most 4")));
    EXPECT_EQ(admission.request_count(), 4);
  }
  EXPECT_EQ(admission.request_count(), 1);
  PHYLLO_EXPECT_OK(first.AddRequests(1));
}

TEST(AdmissionTest, TakesMoreChoicesThanRequestsWhenTheirRequestIsAlone) {
  Admission admission({.max_requests = 4});
  PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit permit, admission.AdmitRequest());
  PHYLLO_EXPECT_OK(permit.AddRequests(9));
  EXPECT_EQ(admission.request_count(), 10);
}

TEST(AdmissionTest, RefusesBytesBeyondTheLimitUntilOthersEnd) {
  Admission admission({.max_requests = 3, .max_request_bytes = 100});
  PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit second, admission.AdmitRequest());
  {
    PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit first, admission.AdmitRequest());
    PHYLLO_ASSERT_OK(first.AddRequestBytes(60));
    EXPECT_THAT(second.AddRequestBytes(50),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("60 request_bytes under way, at most 100")));
  }
  PHYLLO_EXPECT_OK(second.AddRequestBytes(50));
}

TEST(AdmissionTest, RefusesMoreBytesThanTheLimitEvenAlone) {
  Admission admission({.max_request_bytes = 100});
  PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit permit, admission.AdmitRequest());
  const absl::Status status = permit.AddRequestBytes(101);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("101 bytes in the gateway, max_request_bytes is 100")));
  EXPECT_FALSE(GetRetryDelay(status).has_value()) << "it would be refused again";
  PHYLLO_EXPECT_OK(permit.AddRequestBytes(100));
}

TEST(AdmissionTest, GivesTokensBackOnceWhenPermitWasMoved) {
  Admission admission({.max_requests = 2, .max_tokens = 10});
  {
    PHYLLO_ASSERT_OK_AND_ASSIGN(AdmissionPermit permit, admission.AdmitRequest());
    PHYLLO_ASSERT_OK(permit.AddTokens(7));
    const AdmissionPermit moved = std::move(permit);
    EXPECT_EQ(admission.token_count(), 7);
  }
  EXPECT_EQ(admission.token_count(), 0);
  EXPECT_EQ(admission.request_count(), 0);
}

}  // namespace
}  // namespace phyllo
