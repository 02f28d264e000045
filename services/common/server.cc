#include "services/common/server.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "grpc/grpc.h"
#include "grpcpp/ext/channelz_service_plugin.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "services/common/internal/health_service.h"
#include "services/common/internal/rpc_metrics.h"
#include "services/common/message_limits.h"

namespace phyllo {
namespace {

// gRPC collects plugins in a process-wide list: once, or it would register reflection twice in a
// process with two servers. The library is never given back: with its last user it would end its
// threads, of which one polls for up to 10 seconds after a write to a full socket, and the process
// would not end until then.
void InitializeGrpcOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc_init();
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::channelz::experimental::InitChannelzService();
  });
}

void SetTransportOptions(const ServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_receive_message_bytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kServerMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 2 * kClientPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  // Two servers on one port would share its connections without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  grpc::ResourceQuota quota("phyllo_server");
  quota.SetMaxThreads(options.max_handler_threads);
  quota.Resize(static_cast<size_t>(options.max_transport_bytes));
  builder.SetResourceQuota(quota);
}

// `listen` with the port that was bound in place of the one that was asked for.
std::string DialAddress(const std::string& listen, int port) {
  if (absl::StartsWith(listen, "unix:") || absl::StartsWith(listen, "unix-abstract:"))
    return listen;
  return absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port);
}

}  // namespace

Server::Server(std::unique_ptr<HealthService> health) : health_(std::move(health)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      absl::Span<const CarriedService> services,
                                                      MetricRegistry& metrics) {
  if (options.listen_addresses.empty())
    return absl::InvalidArgumentError("no address to listen on");
  InitializeGrpcOnce();

  std::vector<std::string> names;
  for (const CarriedService& service : services) names.push_back(service.full_name);
  auto server =
      std::unique_ptr<Server>(new Server(std::make_unique<HealthService>(std::move(names))));

  grpc::ServerBuilder builder;
  SetTransportOptions(options, builder);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(CreateRpcMetrics(metrics));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  builder.RegisterService(server->health_.get());
  for (const CarriedService& service : services) builder.RegisterService(service.service);

  // gRPC writes the ports while it starts, and stops at the first address that it cannot bind.
  std::vector<int> ports(options.listen_addresses.size(), 0);
  for (size_t i = 0; i < ports.size(); ++i) {
    builder.AddListeningPort(options.listen_addresses[i], grpc::InsecureServerCredentials(),
                             &ports[i]);
  }
  server->server_ = builder.BuildAndStart();
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i] == 0)
      return absl::UnavailableError(
          absl::StrCat("cannot listen on \"", options.listen_addresses[i], "\""));
    server->addresses_.push_back(DialAddress(options.listen_addresses[i], ports[i]));
  }
  if (server->server_ == nullptr) return absl::InternalError("gRPC does not start");
  return server;
}

Server::~Server() {
  if (server_ == nullptr) return;
  health_->BeginDrain();
  health_->EndWatches();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

void Server::SetServing(bool serving) { health_->SetServing(serving); }

void Server::Drain(absl::Duration grace, absl::Duration timeout) {
  health_->BeginDrain();
  // Waits for an event that never comes: the one place where time itself is what is waited for.
  absl::Notification never;
  never.WaitForNotificationWithTimeout(grace);
  health_->EndWatches();
  // Abseil's sum stays infinite where one of std::chrono would overflow into the past.
  server_->Shutdown(absl::ToChronoTime(absl::Now() + timeout));
  server_->Wait();
}

}  // namespace phyllo
