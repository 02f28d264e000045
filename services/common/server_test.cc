// A server over real sockets on port 0, carrying the one service that every build has: health.
#include "services/common/server.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "grpc/grpc.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "grpcpp/support/stub_options.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "phyllo/tokenizer/v1/tokenizer.grpc.pb.h"
#include "services/common/channel.h"
#include "services/common/message_limits.h"

namespace phyllo {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::phyllo::tokenizer::v1::DecodeRequest;
using ::phyllo::tokenizer::v1::DecodeResponse;
using ::phyllo::tokenizer::v1::EncodeRequest;
using ::phyllo::tokenizer::v1::EncodeResponse;
using ::phyllo::tokenizer::v1::TokenizerService;
using ::testing::HasSubstr;
using ::testing::Not;

// Encode waits until it is told to end; Decode answers with the size of what came.
class WaitingService final : public TokenizerService::Service {
 public:
  grpc::Status Encode(grpc::ServerContext*, const EncodeRequest*, EncodeResponse*) override {
    entered.Notify();
    leave.WaitForNotification();
    return grpc::Status::OK;
  }
  grpc::Status Decode(grpc::ServerContext*, const DecodeRequest* request,
                      DecodeResponse* response) override {
    response->set_text(std::to_string(request->ByteSizeLong()));
    return grpc::Status::OK;
  }

  absl::Notification entered;
  absl::Notification leave;
};

class ServerTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Server>> Start(std::vector<std::string> addresses) {
    ServerOptions options;
    options.listen_addresses = std::move(addresses);
    return Server::Start(options, {{&service_, TokenizerService::service_full_name()}}, metrics_);
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  }

  static HealthCheckResponse::ServingStatus Check(const std::string& address,
                                                  const std::string& name) {
    grpc::ClientContext context;
    SetDeadline(context);
    context.set_wait_for_ready(true);
    HealthCheckRequest request;
    request.set_service(name);
    HealthCheckResponse response;
    const grpc::Status status =
        Health::NewStub(CreateChannel(address))->Check(&context, request, &response);
    if (status.error_code() == grpc::StatusCode::NOT_FOUND)
      return HealthCheckResponse::SERVICE_UNKNOWN;
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }

  // Calls a method that the client's code knows nothing of.
  static grpc::Status CallMethod(const std::string& address, const std::string& method) {
    grpc::GenericStub stub(CreateChannel(address));
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    grpc::Status result;
    absl::Notification done;
    stub.UnaryCall(&context, method, grpc::StubOptions(), &request, &response,
                   [&](grpc::Status status) {
                     result = std::move(status);
                     done.Notify();
                   });
    done.WaitForNotification();
    return result;
  }

  MetricRegistry metrics_;
  WaitingService service_;
};

TEST_F(ServerTest, StartsNotServingAndFollowsSetServing) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0"}));
  const std::string address = server->addresses()[0];
  EXPECT_EQ(Check(address, ""), HealthCheckResponse::NOT_SERVING);
  server->SetServing(true);
  EXPECT_EQ(Check(address, ""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(address, "phyllo.tokenizer.v1.TokenizerService"), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(address, "no.such.Service"), HealthCheckResponse::SERVICE_UNKNOWN);
}

TEST_F(ServerTest, ServesTcpAndUnixSocketsTogether) {
  char folder[] =
      "/tmp/phyllo_XXXXXX";  // A socket's path has at most 107 bytes: TempDir() may be longer.
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string unix_address = std::string("unix:") + folder + "/socket";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0", unix_address}));
  ASSERT_EQ(server->addresses().size(), 2);
  EXPECT_EQ(server->addresses()[1], unix_address);
  EXPECT_EQ(Check(server->addresses()[0], ""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(unix_address, ""), HealthCheckResponse::NOT_SERVING);
}

TEST_F(ServerTest, ReturnsUnavailableWhenPortIsTaken) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto first, Start({"127.0.0.1:0"}));
  EXPECT_THAT(Start({first->addresses()[0]}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(first->addresses()[0])));
}

TEST_F(ServerTest, ReturnsInvalidArgumentWithoutAddress) {
  EXPECT_THAT(Start({}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ServerTest, LeavesGrpcRunningBehindItself) {
  PHYLLO_EXPECT_OK(Start({"127.0.0.1:0"}));
  EXPECT_TRUE(grpc_is_initialized());
}

TEST_F(ServerTest, TellsWatchersOfDrainAndEndsThem) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0"}));
  server->SetServing(true);
  const auto stub = Health::NewStub(CreateChannel(server->addresses()[0]));
  grpc::ClientContext context;
  SetDeadline(context);
  const auto watch = stub->Watch(&context, HealthCheckRequest());
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  // An open watch does not hold the drain up: with this time limit the test would otherwise time
  // out.
  server->Drain(absl::ZeroDuration(), absl::Minutes(10));
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServerTest, FinishesRunningCallsBeforeDrainReturns) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0"}));
  const auto stub = TokenizerService::NewStub(CreateChannel(server->addresses()[0]));
  grpc::Status status(grpc::StatusCode::UNKNOWN, "");
  std::thread caller([&] {
    grpc::ClientContext context;
    EncodeResponse response;
    status = stub->Encode(&context, EncodeRequest(), &response);
  });
  service_.entered.WaitForNotification();
  std::thread drainer([&] { server->Drain(absl::ZeroDuration(), absl::Minutes(10)); });
  service_.leave.Notify();
  drainer.join();
  caller.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ServerTest, CancelsNothingWhenDrainHasNoTimeLimit) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0"}));
  const auto channel = CreateChannel(server->addresses()[0]);
  const auto stub = TokenizerService::NewStub(channel);
  grpc::Status status(grpc::StatusCode::UNKNOWN, "");
  std::thread caller([&] {
    grpc::ClientContext context;
    EncodeResponse response;
    status = stub->Encode(&context, EncodeRequest(), &response);
  });
  service_.entered.WaitForNotification();
  std::thread drainer([&] { server->Drain(absl::ZeroDuration(), absl::InfiniteDuration()); });
  // The server takes its leave of the client.
  EXPECT_TRUE(channel->WaitForStateChange(
      GRPC_CHANNEL_READY, std::chrono::system_clock::now() + std::chrono::seconds(20)));
  service_.leave.Notify();
  drainer.join();
  caller.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ServerTest, TakesMessagesUpToTheLimitAndRefusesLarger) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0"}));
  const auto stub = TokenizerService::NewStub(CreateChannel(server->addresses()[0]));
  DecodeRequest request;
  request.mutable_token_ids()->Resize(kMaxMessageBytes - 16,
                                      1);  // One byte each, and a few for the field.
  grpc::ClientContext context;
  DecodeResponse response;
  EXPECT_TRUE(stub->Decode(&context, request, &response).ok());
  request.mutable_token_ids()->Resize(kMaxMessageBytes, 1);
  grpc::ClientContext too_large;
  EXPECT_EQ(stub->Decode(&too_large, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServerTest, CountsCallsByMethodAndCode) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0"}));
  const auto stub = TokenizerService::NewStub(CreateChannel(server->addresses()[0]));
  grpc::ClientContext context;
  DecodeResponse response;
  ASSERT_TRUE(stub->Decode(&context, DecodeRequest(), &response).ok());
  server->Drain(absl::ZeroDuration(), absl::Seconds(20));
  EXPECT_THAT(metrics_.SerializeText(),
              HasSubstr("phyllo_rpc_total{code=\"OK\",method=\"/"
                        "phyllo.tokenizer.v1.TokenizerService/Decode\"} 1\n"));
}

TEST_F(ServerTest, CountsCallsOfUnknownMethodsUnderOneName) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, Start({"127.0.0.1:0"}));
  for (const char* const method :
       {"/no.such.Service/Method", "/phyllo.tokenizer.v1.TokenizerService/NoSuchMethod"}) {
    EXPECT_EQ(CallMethod(server->addresses()[0], method).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
  server->Drain(absl::ZeroDuration(), absl::Seconds(20));
  const std::string text = metrics_.SerializeText();
  EXPECT_THAT(text, HasSubstr("phyllo_rpc_total{code=\"UNIMPLEMENTED\",method=\"unknown\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("such")));
}

}  // namespace
}  // namespace phyllo
