// Hostile clients against the real gateway: it never exceeds the memory it was given, and goes on.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "tests/integration/peak_memory.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMebibyte = 1 << 20;
constexpr int64_t kGatewayBytes = 320 * kMebibyte;
constexpr int kClients = 16;

ServiceFlags SmallFlags() {
  ServiceFlags flags;
  flags[static_cast<int>(ServiceKind::kGateway)] = {absl::StrCat("--memory_bytes=", kGatewayBytes),
                                                    "--max_request_bytes=1048576",
                                                    "--max_handler_threads=128"};
  return flags;
}

class GatewayMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<RunningServices>> services =
        RunningServices::Start(SmallFlags());
    PHYLLO_ASSERT_OK(services);
    services_ = *std::move(services);
  }

  void TearDown() override {
    const Answer answer = services_->Generate(GreedyRequest({1, 5, 9}, 5));
    PHYLLO_EXPECT_OK(answer.status);
    const int64_t peak = PeakMemory(services_->pid(ServiceKind::kGateway));
    EXPECT_GT(peak, 0);
    EXPECT_LE(peak, kGatewayBytes);
    RecordProperty("gateway_peak_megabytes", static_cast<int>(peak / kMebibyte));
  }

  // Sends the request from many clients at once, again and again. Every answer is OK or one of the
  // refusals of `codes`. Returns how many were OK.
  int Attack(const gateway::v1::GenerateRequest& request, bool unary,
             const std::vector<absl::StatusCode>& codes) {
    std::atomic<int> ok_count = 0;
    std::vector<std::thread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&] {
        for (int i = 0; i < 4; ++i) {
          const absl::Status status =
              unary ? Collect(request) : services_->Generate(request).status;
          if (status.ok()) {
            ++ok_count;
          } else {
            EXPECT_THAT(codes, ::testing::Contains(status.code())) << status;
          }
        }
      });
    }
    for (std::thread& client : clients) client.join();
    return ok_count;
  }

  absl::Status Collect(const gateway::v1::GenerateRequest& request) {
    gateway::v1::GenerateUnaryRequest unary;
    *unary.mutable_request() = request;
    gateway::v1::GenerateUnaryResponse response;
    grpc::ClientContext context;
    return FromGrpcStatus(services_->stub().GenerateUnary(&context, unary, &response));
  }

  std::unique_ptr<RunningServices> services_;
};

TEST_F(GatewayMemoryTest, LongTextsOfManyTokens) {
  gateway::v1::GenerateRequest request;
  for (int i = 0; i < 3 * kMebibyte / 16; ++i) request.mutable_text()->append("~\x01^\x02");
  const int ok_count =
      Attack(request, /*unary=*/false,
             {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted});
  EXPECT_EQ(ok_count, 0) << "the model has 2048 positions";
}

TEST_F(GatewayMemoryTest, MessagesLargerThanTheLimit) {
  gateway::v1::GenerateRequest request;
  request.mutable_hidden_states()->set_data(std::string(8 * kMebibyte, 'x'));
  // UNAVAILABLE: while its memory is short, gRPC closes connections that no call uses, and a call
  // may begin on one just then.
  EXPECT_EQ(Attack(request, /*unary=*/false,
                   {absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable}),
            0);
}

TEST_F(GatewayMemoryTest, WholeAnswersWithManyLogprobs) {
  gateway::v1::GenerateRequest request = GreedyRequest({1, 5, 9}, 50);
  request.mutable_output()->mutable_logprobs()->set_top_count(120);
  EXPECT_GT(Attack(request, /*unary=*/true, {absl::StatusCode::kResourceExhausted}), 0);
  // One that is too large is refused alone, too.
  request.set_choice_count(4);
  EXPECT_EQ(Attack(request, /*unary=*/true, {absl::StatusCode::kResourceExhausted}), 0);
}

TEST(GatewayMemoryStartTest, RefusesLimitsThatCouldLeadBeyondTheMemoryNamingThem) {
  ServiceFlags flags = SmallFlags();
  flags[static_cast<int>(ServiceKind::kGateway)].push_back("--max_request_bytes=33554432");
  EXPECT_THAT(RunningServices::Start(flags).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(absl::StrCat("the limit is ", kGatewayBytes)),
                             HasSubstr("--max_request_bytes"))));
}

}  // namespace
}  // namespace phyllo
