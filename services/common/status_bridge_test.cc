#include "services/common/status_bridge.h"

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(StatusBridgeTest, KeepsEveryCodeBothWays) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "message");
    EXPECT_EQ(ToGrpcStatus(status).error_code(), code);
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  }
}

TEST(StatusBridgeTest, CarriesReasonRetryDelayAndMessage) {
  const absl::Status sent =
      WithRetryDelay(WithReason(absl::ResourceExhaustedError("the queue is full"),
                                {"QUEUE_FULL", {{"limit", "64"}}}),
                     absl::Milliseconds(1500));
  const absl::Status received = FromGrpcStatus(ToGrpcStatus(sent));
  EXPECT_THAT(received,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the queue is full")));
  ASSERT_TRUE(GetReason(received).has_value());
  EXPECT_EQ(GetReason(received)->reason, "QUEUE_FULL");
  EXPECT_EQ(GetReason(received)->metadata.at("limit"), "64");
  EXPECT_EQ(GetRetryDelay(received), absl::Milliseconds(1500));
}

TEST(StatusBridgeTest, WritesDetailsAsGoogleRpcStatus) {
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(
      ToGrpcStatus(InvalidField("sampling.top_p", "must be in (0, 1], is 1.5")).error_details()));
  EXPECT_EQ(details.code(), 3);
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::BadRequest bad_request;
  ASSERT_TRUE(details.details(0).UnpackTo(&bad_request));
  EXPECT_EQ(bad_request.field_violations(0).field(), "sampling.top_p");
}

TEST(StatusBridgeTest, NamesInvalidField) {
  const absl::Status status =
      FromGrpcStatus(ToGrpcStatus(InvalidField("sampling.top_p", "must be in (0, 1], is 1.5")));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               "sampling.top_p: must be in (0, 1], is 1.5"));
  EXPECT_EQ(GetInvalidField(status), "sampling.top_p");
}

TEST(StatusBridgeTest, CutsLongMessageBetweenCharacters) {
  std::string message(2047, 'x');
  message += "\xC3\xA9 and more";  // é would be cut in the middle.
  EXPECT_EQ(ToGrpcStatus(absl::InternalError(message)).error_message(), std::string(2047, 'x'));
}

TEST(StatusBridgeTest, KeepsCodeWhenDetailsAreNotOurs) {
  const grpc::Status status(grpc::StatusCode::UNAVAILABLE, "gone", "\xFF\xFF not a proto");
  EXPECT_THAT(FromGrpcStatus(status), StatusIs(absl::StatusCode::kUnavailable, "gone"));
  EXPECT_FALSE(GetReason(FromGrpcStatus(status)).has_value());
}

}  // namespace
}  // namespace phyllo
