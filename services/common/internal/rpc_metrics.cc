#include "services/common/internal/rpc_metrics.h"

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace phyllo {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

constexpr char kUnknownMethod[] = "unknown";

// What the method "/package.Service/Method" of a call is counted under. Names that no service of
// the program has are the client's choice, and there is no end of them: they share one.
std::string MethodLabel(absl::string_view method) {
  const size_t slash = method.rfind('/');
  if (slash == 0 || slash == absl::string_view::npos) return kUnknownMethod;
  const google::protobuf::ServiceDescriptor* const service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          std::string(method.substr(1, slash - 1)));
  const bool known = service != nullptr &&
                     service->FindMethodByName(std::string(method.substr(slash + 1))) != nullptr;
  return known ? std::string(method) : kUnknownMethod;
}

// The families that all interceptors of a server count in.
struct RpcFamilies {
  prometheus::Family<prometheus::Counter>* finished;
  prometheus::Family<prometheus::Histogram>* seconds;
  prometheus::Gauge* running;
};

// One per RPC, used by one thread at a time. Counts when the status goes out, which happens exactly
// once, also for cancelled calls.
class RpcCounter final : public grpc::experimental::Interceptor {
 public:
  RpcCounter(const RpcFamilies& families, absl::string_view method)
      : families_(families), method_(MethodLabel(method)) {
    families_.running->Increment();
  }
  ~RpcCounter() override { families_.running->Decrement(); }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const auto code = static_cast<absl::StatusCode>(methods->GetSendStatus().error_code());
      families_.finished->Add({{"method", method_}, {"code", absl::StatusCodeToString(code)}})
          .Increment();
      families_.seconds->Add({{"method", method_}}, LatencyBuckets())
          .Observe(std::chrono::duration<double>(Clock::now() - start_).count());
    }
    methods->Proceed();
  }

 private:
  const RpcFamilies families_;
  const std::string method_;
  const Clock::time_point start_ = Clock::now();
};

class RpcCounterFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit RpcCounterFactory(const RpcFamilies& families) : families_(families) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new RpcCounter(families_, info->method());
  }

 private:
  const RpcFamilies families_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CreateRpcMetrics(
    MetricRegistry& metrics) {
  return std::make_unique<RpcCounterFactory>(RpcFamilies{
      &metrics.AddCounterFamily("phyllo_rpc_total", "RPCs finished, by method and status code."),
      &metrics.AddHistogramFamily("phyllo_rpc_seconds",
                                  "Time from the arrival of an RPC to its status, by method."),
      &metrics.AddGauge("phyllo_rpc_running",
                        "RPCs being handled, streams and health checks included."),
  });
}

}  // namespace phyllo
