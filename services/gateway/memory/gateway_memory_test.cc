#include "services/gateway/memory/gateway_memory.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/message_limits.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMebibyte = 1 << 20;

TEST(GatewayMemoryTest, RequestBytesFollowTheMemory) {
  EXPECT_EQ(DefaultRequestBytes(0, 2), 256 * kMebibyte);
  EXPECT_EQ(DefaultRequestBytes(100 * kMebibyte, 2), 8 * kMebibyte);
  EXPECT_EQ(DefaultRequestBytes(1024 * kMebibyte, 2), 16 * kMebibyte);
  EXPECT_LT(DefaultRequestBytes(1024 * kMebibyte, 8), 16 * kMebibyte);
  EXPECT_EQ(DefaultRequestBytes(int64_t{1} << 40, 64), 256 * kMebibyte);
}

TEST(GatewayMemoryTest, EveryLimitCounts) {
  const AdmissionLimits limits = {.max_requests = 10, .max_request_bytes = 1000};
  const GatewayServerLimits server = {
      .max_handler_threads = 20, .max_transport_bytes = 5000, .machine_cpu_count = 4};
  const GatewayMemory most = MostMemory(limits, server);
  EXPECT_GE(most.requests, 1000);
  EXPECT_EQ(most.transport, 5000);
  EXPECT_GE(most.messages, 4 * 1000);
  EXPECT_EQ(most.total(),
            most.requests + most.messages + most.calls + most.transport + most.program);
  AdmissionLimits more_requests = limits;
  more_requests.max_requests = 11;
  EXPECT_GT(MostMemory(more_requests, server).calls, most.calls);
}

TEST(GatewayMemoryTest, NoMessageIsLargerThanWhatIsAdmitted) {
  EXPECT_EQ(MaxMessageBytes({.max_request_bytes = 1000}), 1000);
  EXPECT_EQ(MaxMessageBytes({.max_request_bytes = int64_t{1} << 40}), kMaxMessageBytes);
}

TEST(GatewayMemoryTest, DefaultsFitIntoAGibibyte) {
  for (const int64_t cpu_count : {1, 2, 8, 16, 256}) {
    const AdmissionLimits limits = {.max_request_bytes =
                                        DefaultRequestBytes(1024 * kMebibyte, cpu_count)};
    const GatewayServerLimits server = {.max_handler_threads = 512,
                                        .max_transport_bytes = 128 * kMebibyte,
                                        .machine_cpu_count = cpu_count};
    EXPECT_LE(MostMemory(limits, server).total(), 1024 * kMebibyte) << cpu_count;
  }
}

TEST(GatewayMemoryTest, RefusesMoreThanTheLimitNamingPartsAndFlags) {
  const GatewayMemory most = {.requests = 600, .transport = 500};
  PHYLLO_EXPECT_OK(CheckGatewayMemory(most, 1100));
  PHYLLO_EXPECT_OK(CheckGatewayMemory(most, 0));
  EXPECT_THAT(CheckGatewayMemory(most, 1099),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1100 bytes, the limit is 1099"),
                             HasSubstr("requests 600 (--max_request_bytes)"),
                             HasSubstr("transport 500 (--max_transport_bytes)"))));
}

class AnswerBytesTest : public ::testing::Test {
 protected:
  AnswerBytesTest() {
    request_.wire = &wire_;
    request_.stopping.set_max_new_tokens(1000);
  }

  gateway::v1::GenerateRequest wire_;
  GenerationRequest request_;
};

TEST_F(AnswerBytesTest, TokensCountIfTheyAreHeld) {
  EXPECT_EQ(AnswerBytes(request_, 100, /*whole=*/false), 0);
  EXPECT_GE(AnswerBytes(request_, 100, /*whole=*/true), 1000 * 8);
}

TEST_F(AnswerBytesTest, LogprobsOfAllChoicesCount) {
  wire_.mutable_output()->mutable_logprobs()->set_top_count(4);
  const int64_t one = AnswerBytes(request_, 100, true);
  EXPECT_GT(one, 1000 * 5 * 50);
  request_.run_count = 3;
  EXPECT_EQ(AnswerBytes(request_, 100, true), 3 * one);
}

TEST_F(AnswerBytesTest, OfAStreamedAnswerWhatOneMessageMayBringCounts) {
  wire_.mutable_output()->mutable_logprobs()->set_top_count(128);
  const int64_t streamed = AnswerBytes(request_, 100, false);
  EXPECT_LT(streamed, AnswerBytes(request_, 100, true));
  request_.stopping.set_max_new_tokens(2000);
  EXPECT_EQ(AnswerBytes(request_, 100, false), streamed);
}

TEST_F(AnswerBytesTest, LogprobsOfThePromptCountOnce) {
  wire_.mutable_output()->mutable_prompt_logprobs()->set_top_count(1);
  request_.run_count = 3;
  EXPECT_GT(AnswerBytes(request_, 100, false), 100 * 2 * 50);
  EXPECT_EQ(AnswerBytes(request_, 200, false), 2 * AnswerBytes(request_, 100, false));
}

}  // namespace
}  // namespace phyllo
