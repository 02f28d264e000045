// The gateway's binary.
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/server_identity.h"
#include "services/common/service_flags.h"
#include "services/common/service_process.h"
#include "services/gateway/answers/stall_watch.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/encodings/encoder.h"
#include "services/gateway/gateway_service.h"
#include "services/gateway/generator.h"
#include "services/gateway/requests/admission.h"
#include "services/gateway/requests/gateway_metrics.h"
#include "services/gateway/scorer.h"
#include "services/gateway/serving_switch.h"

ABSL_FLAG(std::string, tokenizer_addresses, "127.0.0.1:50051",
          "Tokenizer services, separated by commas: host:port or unix:PATH");
ABSL_FLAG(std::string, embedding_addresses, "127.0.0.1:50052", "Embedding services, likewise");
ABSL_FLAG(std::string, transformer_addresses, "127.0.0.1:50053", "Transformer services, likewise");
ABSL_FLAG(int64_t, max_requests, 256,
          "Most generations, scorings and encodings under way; more are RESOURCE_EXHAUSTED. Range "
          "[1, 65536]");
ABSL_FLAG(int64_t, max_tokens, 1 << 20,
          "Most tokens of their prompts and answers together. Range [1, 2^40]");
ABSL_FLAG(
    int64_t, max_request_bytes, int64_t{256} << 20,
    "Most bytes of the messages they came with, vectors of prompts included. Range [1, 2^40]");
ABSL_FLAG(absl::Duration, max_client_stall, absl::Seconds(60),
          "Longest time a client may leave a message unread before its call is cancelled");
ABSL_FLAG(absl::Duration, check_interval, absl::Seconds(2),
          "Time between two looks at services that answer");

namespace phyllo {
namespace {

constexpr char kUsage[] =
    R"(Phyllo's gateway: the public interface. It holds no model; it joins tokenizer, embedding and transformer services into a pipeline.

  gateway --listen=0.0.0.0:50050 --tokenizer_addresses=t1:50051 --embedding_addresses=e1:50052 --transformer_addresses=x1:50053
  gateway --listen=0.0.0.0:50050 --transformer_addresses=x1:50053,x2:50053 ...       requests go to the one with the least tokens under way
  gateway --listen=unix:/run/phyllo/gateway.sock --tokenizer_addresses=unix:/run/phyllo/tokenizer.sock ...

It is SERVING while there is a complete path of services whose digests agree. Services may start, stop and come back in any order.
The interface is proto/phyllo/gateway/v1/gateway.proto. SIGTERM drains, a second one stops at once.)";

absl::Status CheckFlags() {
  const int64_t max_requests = absl::GetFlag(FLAGS_max_requests);
  if (max_requests < 1 || max_requests > 65536)
    return absl::InvalidArgumentError("--max_requests is outside [1, 65536]");
  const int64_t max_tokens = absl::GetFlag(FLAGS_max_tokens);
  if (max_tokens < 1 || max_tokens > int64_t{1} << 40)
    return absl::InvalidArgumentError("--max_tokens is outside [1, 2^40]");
  const int64_t max_request_bytes = absl::GetFlag(FLAGS_max_request_bytes);
  if (max_request_bytes < 1 || max_request_bytes > int64_t{1} << 40)
    return absl::InvalidArgumentError("--max_request_bytes is outside [1, 2^40]");
  if (absl::GetFlag(FLAGS_max_client_stall) < absl::Seconds(1))
    return absl::InvalidArgumentError("--max_client_stall is less than 1s");
  if (absl::GetFlag(FLAGS_check_interval) < absl::Milliseconds(10))
    return absl::InvalidArgumentError("--check_interval is less than 10ms");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  ServiceProcessOptions process_options =
      ParseServiceFlags("gateway", "127.0.0.1:50050", kUsage, argc, argv);
  ServiceProcess process(process_options);
  const absl::Status flags = CheckFlags();
  if (!flags.ok()) return process.Fail(flags);

  ServingSwitch serving(process.logger());
  BackendSetOptions backend_options;
  backend_options.tokenizer_addresses = SplitAddresses(absl::GetFlag(FLAGS_tokenizer_addresses));
  backend_options.embedding_addresses = SplitAddresses(absl::GetFlag(FLAGS_embedding_addresses));
  backend_options.transformer_addresses =
      SplitAddresses(absl::GetFlag(FLAGS_transformer_addresses));
  backend_options.check_interval = absl::GetFlag(FLAGS_check_interval);
  backend_options.on_path_change = [&serving](bool path_complete) {
    serving.SetServing(path_complete);
  };
  if (backend_options.tokenizer_addresses.empty() || backend_options.embedding_addresses.empty() ||
      backend_options.transformer_addresses.empty()) {
    return process.Fail(
        absl::InvalidArgumentError("every kind of service needs an address; try --help"));
  }

  Admission admission({absl::GetFlag(FLAGS_max_requests), absl::GetFlag(FLAGS_max_tokens),
                       absl::GetFlag(FLAGS_max_request_bytes)});
  GatewayMetrics metrics(process.metrics(), admission);
  StallWatch stall_watch(absl::GetFlag(FLAGS_max_client_stall));
  BackendSet backends(std::move(backend_options));
  Generator generator(backends, admission, metrics, process.logger());
  Scorer scorer(backends, admission);
  Encoder encoder(backends, admission);
  const ServerIdentity identity{common::v1::ServerInfo()};
  GatewayServiceImpl service({generator, scorer, encoder, backends, stall_watch, identity});

  ServiceHooks hooks;
  hooks.on_started = [&serving](Server& server) { serving.Attach(&server); };
  hooks.on_stopped = [&serving] { serving.Attach(nullptr); };
  return process.Run({{&service, gateway::v1::GatewayService::service_full_name()}}, hooks);
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
