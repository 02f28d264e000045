// Counts every RPC a server handles, by method and status code, and times it.
#ifndef PHYLLO_SERVICES_COMMON_INTERNAL_RPC_METRICS_H_
#define PHYLLO_SERVICES_COMMON_INTERNAL_RPC_METRICS_H_

#include <memory>

#include "grpcpp/support/server_interceptor.h"
#include "services/common/metrics.h"

namespace phyllo {

// Families phyllo_rpc_total{method,code}, phyllo_rpc_seconds{method} and phyllo_rpc_running.
// Methods that do not exist are counted as the method "unknown". Borrows `metrics`.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CreateRpcMetrics(
    MetricRegistry& metrics);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_INTERNAL_RPC_METRICS_H_
