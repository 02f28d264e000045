// A gateway with fakes behind it, all over sockets in one process.
#ifndef PHYLLO_SERVICES_GATEWAY_TESTING_GATEWAY_HARNESS_H_
#define PHYLLO_SERVICES_GATEWAY_TESTING_GATEWAY_HARNESS_H_

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "phyllo/gateway/v1/gateway.grpc.pb.h"
#include "services/common/logger.h"
#include "services/common/metrics.h"
#include "services/common/server.h"
#include "services/gateway/gateway_service.h"
#include "services/gateway/testing/fake_services.h"

namespace phyllo {

struct GatewayHarnessOptions {
  AdmissionLimits admission = {};
  absl::Duration max_client_stall = absl::Seconds(60);
  int max_handler_threads = 512;  // of the gateway
};

// What a client received.
struct Received {
  absl::Status status;
  std::string text;  // Of all deltas.
  std::vector<gateway::v1::GenerateResponse> messages;
  // The final message, the last one of several choices; empty if none came.
  gateway::v1::Finished finished;
};

// Set the fakes up, then Start. Not thread-safe, but the stub is.
class GatewayHarness {
 public:
  explicit GatewayHarness(const GatewayHarnessOptions& options = {}) : options_(options) {}
  ~GatewayHarness();

  FakeTokenizer tokenizer;
  FakeTokenizer second_tokenizer;  // Served when StartSecondTokenizer was called before Start.
  FakeEmbedding embedding;
  FakeTransformer transformer;

  void StartSecondTokenizer();
  // Starts the servers and the gateway; returns when the gateway has asked all of them once.
  void Start();
  // Waits, 30 s at most, until the path is complete, or not; tells whether it is so.
  bool WaitForPath(bool complete);

  // As a kill: running calls break off, new ones are refused.
  void StopTokenizer() { tokenizer_server_.reset(); }
  void StopEmbedding() { embedding_server_.reset(); }
  void StopTransformer() { transformer_server_.reset(); }
  // On the address it had.
  void RestartTokenizer() { ServeTokenizer(); }

  gateway::v1::GatewayService::Stub& stub() { return *stub_; }
  Received Generate(const gateway::v1::GenerateRequest& request,
                    absl::Duration timeout = absl::Seconds(30));
  // What /metrics and the log hold.
  std::string MetricsText() const { return metrics_.SerializeText(); }
  std::string LogText();

 private:
  void ServeTokenizer();
  std::unique_ptr<Server> Serve(grpc::Service& service, const char* name,
                                ServerOptions options = {});

  const GatewayHarnessOptions options_;
  std::ostringstream log_;
  MetricRegistry metrics_;
  MetricRegistry fake_metrics_;
  std::unique_ptr<Server> tokenizer_server_, second_tokenizer_server_, embedding_server_,
      transformer_server_;
  const std::string tokenizer_address_ = UniqueAddress();
  std::unique_ptr<Logger> logger_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<GatewayMetrics> gateway_metrics_;
  std::unique_ptr<StallWatch> stall_watch_;
  absl::Mutex mutex_;
  bool path_complete_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<BackendSet> backends_;
  std::unique_ptr<Generator> generator_;
  std::unique_ptr<Scorer> scorer_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<TokenizerCalls> tokenizer_calls_;
  std::unique_ptr<ServerIdentity> identity_;
  std::unique_ptr<GatewayServiceImpl> service_;
  std::unique_ptr<Server> gateway_server_;
  std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_TESTING_GATEWAY_HARNESS_H_
