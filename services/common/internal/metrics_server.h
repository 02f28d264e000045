// GET /metrics over HTTP, for Prometheus.
#ifndef PHYLLO_SERVICES_COMMON_INTERNAL_METRICS_SERVER_H_
#define PHYLLO_SERVICES_COMMON_INTERNAL_METRICS_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "services/common/metrics.h"

struct mg_context;

namespace phyllo {

// Serves one registry on one address with two threads of its own; any other path is 404. Stops in
// its destructor. Thread-safe.
class MetricsServer {
 public:
  // `address` is "host:port" or ":port" with a numeric host ("[::1]:9090" for IPv6); port 0 takes a
  // free one. Borrows `registry`. INVALID_ARGUMENT if the address cannot be read, UNAVAILABLE if it
  // cannot be bound.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const MetricRegistry& registry);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // The address with the port that was bound, for example "127.0.0.1:40123".
  const std::string& address() const { return address_; }

 private:
  MetricsServer() = default;

  std::string address_;
  mg_context* context_ = nullptr;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_INTERNAL_METRICS_SERVER_H_
