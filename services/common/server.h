// A gRPC server as all our services run it: several addresses, health, reflection, channelz,
// metrics by method and code, bounded resources, drain. It knows nothing about the services it
// carries.
#ifndef PHYLLO_SERVICES_COMMON_SERVER_H_
#define PHYLLO_SERVICES_COMMON_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/message_limits.h"
#include "services/common/metrics.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace phyllo {

class HealthService;

struct ServerOptions {
  // "host:port" (port 0 takes a free one) or "unix:PATH"; at least one.
  std::vector<std::string> listen_addresses;
  // Threads that run the handlers of gRPC's synchronous API, all methods together; a call beyond
  // them gets RESOURCE_EXHAUSTED. A streaming call holds its thread. Calls of the callback API hold
  // none: what bounds them is their service's, a CallLimit for example.
  int max_handler_threads = 512;
  // Largest message that a client may send.
  int max_receive_message_bytes = kMaxMessageBytes;
  // Bytes that gRPC may hold for messages in flight before it slows readers down.
  int64_t max_transport_bytes = int64_t{512} << 20;
};

// A service implementation, borrowed, with its full name for health checks: {&service,
// TokenizerService::service_full_name()}.
struct CarriedService {
  grpc::Service* service;
  std::string full_name;
};

// A running server. Health starts as NOT_SERVING. Thread-safe.
class Server {
 public:
  // Binds all addresses and starts to accept. Borrows `services` and `metrics`; both outlive the
  // server. INVALID_ARGUMENT if there is no address, UNAVAILABLE if one cannot be bound (the
  // message names it).
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       absl::Span<const CarriedService> services,
                                                       MetricRegistry& metrics);
  // Cancels what still runs.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where clients can dial, in the order of the options, ports resolved.
  const std::vector<std::string>& addresses() const { return addresses_; }

  // Health of the whole server (the empty name) and of every carried service's full name. Ignored
  // once Drain has begun.
  void SetServing(bool serving);

  // Says NOT_SERVING, keeps accepting for `grace` so that balancers notice, then refuses new calls,
  // lets running ones finish for `timeout`, which may be infinite, and cancels the rest. Returns
  // when no handler runs any more.
  void Drain(absl::Duration grace, absl::Duration timeout);

 private:
  explicit Server(std::unique_ptr<HealthService> health);

  const std::unique_ptr<HealthService> health_;
  std::vector<std::string> addresses_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_SERVER_H_
