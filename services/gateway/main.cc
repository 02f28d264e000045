// The gateway's binary.
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "model/base/host_resources.h"
#include "model/base/status_macros.h"
#include "services/common/server_identity.h"
#include "services/common/service_flags.h"
#include "services/common/service_process.h"
#include "services/gateway/async/stall_watch.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/encodings/encoder.h"
#include "services/gateway/gateway_service.h"
#include "services/gateway/generator.h"
#include "services/gateway/lookups/tokenizer_calls.h"
#include "services/gateway/memory/gateway_memory.h"
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
    int64_t, max_request_bytes, 0,
    "Most bytes of the messages they came with, vectors of prompts included, and of "
    "log-probabilities of answers. 0: a 64th of the memory, on many CPUs less, within [8 MiB, "
    "256 MiB]. Range [0, 2^40]");
ABSL_FLAG(
    int64_t, memory_bytes, 0,
    "Memory that the process may use, all in all. 0: what the cgroup and the machine have "
    "available. The start fails if the limits could lead beyond it: 8 times "
    "max_request_bytes; for messages that arrive twice it (at most 64 MiB) for each of gRPC's "
    "threads, 4 to 18; 128 KiB for each of max_handler_threads and max_requests; "
    "max_transport_bytes; and 80 "
    "MiB. Range [0, 2^40]");
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

// The limits of the flags, which fit into the memory together.
absl::StatusOr<AdmissionLimits> ReadLimits(ServiceProcess& process) {
  constexpr int64_t kUnlimited = int64_t{1} << 40;
  const int64_t memory_flag = absl::GetFlag(FLAGS_memory_bytes);
  const int64_t request_bytes_flag = absl::GetFlag(FLAGS_max_request_bytes);
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange("memory_bytes", memory_flag, 0, kUnlimited));
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange("max_request_bytes", request_bytes_flag, 0, kUnlimited));
  const HostResources host = DetectHostResources();
  const int64_t machine_cpu_count = std::thread::hardware_concurrency();
  const int64_t memory_bytes = memory_flag > 0 ? memory_flag : host.available_memory_bytes;
  const AdmissionLimits limits = {
      .max_requests = absl::GetFlag(FLAGS_max_requests),
      .max_tokens = absl::GetFlag(FLAGS_max_tokens),
      .max_request_bytes = request_bytes_flag > 0
                               ? request_bytes_flag
                               : DefaultRequestBytes(memory_bytes, machine_cpu_count)};
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange("max_requests", limits.max_requests, 1, 65536));
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange("max_tokens", limits.max_tokens, 1, kUnlimited));

  ServerOptions& server = process.server_options();
  server.max_transport_bytes = TransportBytesFor(memory_bytes, server.max_transport_bytes);
  server.max_receive_message_bytes = static_cast<int>(MaxMessageBytes(limits));
  const GatewayMemory most = MostMemory(limits, {.max_handler_threads = server.max_handler_threads,
                                                 .max_transport_bytes = server.max_transport_bytes,
                                                 .machine_cpu_count = machine_cpu_count});
  process.logger().Info("memory", {{"limit_bytes", memory_bytes},
                                   {"most_bytes", most.total()},
                                   {"max_request_bytes", limits.max_request_bytes},
                                   {"max_transport_bytes", server.max_transport_bytes}});
  PHYLLO_RETURN_IF_ERROR(CheckGatewayMemory(most, memory_bytes));
  return limits;
}

absl::Status CheckIntervals() {
  const absl::Duration max_client_stall = absl::GetFlag(FLAGS_max_client_stall);
  if (max_client_stall < absl::Seconds(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--max_client_stall is ", absl::FormatDuration(max_client_stall), ", must be at least 1s"));
  }
  const absl::Duration check_interval = absl::GetFlag(FLAGS_check_interval);
  if (check_interval < absl::Milliseconds(10)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--check_interval is ", absl::FormatDuration(check_interval), ", must be at least 10ms"));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  ServiceProcessOptions process_options =
      ParseServiceFlags("gateway", "127.0.0.1:50050", kUsage, argc, argv);
  ServiceProcess process(process_options);
  const absl::Status intervals = CheckIntervals();
  if (!intervals.ok()) return process.Fail(intervals);
  const absl::StatusOr<AdmissionLimits> limits = ReadLimits(process);
  if (!limits.ok()) return process.Fail(limits.status());

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

  Admission admission(*limits);
  GatewayMetrics metrics(process.metrics(), admission);
  StallWatch stall_watch(absl::GetFlag(FLAGS_max_client_stall));
  BackendSet backends(std::move(backend_options));
  Generator generator(backends, admission, metrics, process.logger());
  Scorer scorer(backends, admission);
  Encoder encoder(backends, admission);
  TokenizerCalls tokenizer_calls(backends, admission);
  const ServerIdentity identity{common::v1::ServerInfo()};
  GatewayServiceImpl service(
      {generator, scorer, encoder, tokenizer_calls, backends, stall_watch, identity});

  ServiceHooks hooks;
  hooks.on_started = [&serving](Server& server) { serving.Attach(&server); };
  hooks.on_stopped = [&serving] { serving.Attach(nullptr); };
  return process.Run({{&service, gateway::v1::GatewayService::service_full_name()}}, hooks);
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
