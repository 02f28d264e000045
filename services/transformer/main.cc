// The transformer service's binary.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/base/host_resources.h"
#include "model/base/memory_budget.h"
#include "model/base/status_macros.h"
#include "model/packed_cache/packed_image_writer.h"
#include "model/transformer/instruction_set.h"
#include "services/common/server_identity.h"
#include "services/common/service_flags.h"
#include "services/common/service_process.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/scheduling/measure_step_cost.h"
#include "services/transformer/local_step_model.h"
#include "services/transformer/memory/memory_needs.h"
#include "services/transformer/model_info.h"
#include "services/transformer/model_report.h"
#include "services/transformer/monitoring/engine_metrics.h"
#include "services/transformer/monitoring/step_watchdog.h"
#include "services/transformer/news_dispatcher.h"
#include "services/transformer/startup/served_models.h"
#include "services/transformer/startup/transformer_settings.h"
#include "services/transformer/transformer_service.h"
#include "services/transformer/weights/model_cache.h"

ABSL_FLAG(std::string, model, "",
          "Hugging Face model folder (config.json and *.safetensors) or GGUF file. Required");
ABSL_FLAG(std::string, model_name, "", "Name of the model in GetInfo. Empty: the folder's name");
ABSL_FLAG(std::string, precision, "auto",
          "Of the weights and the KV cache: f32, bf16, int8 or int4, or auto = bf16 if the "
          "checkpoint is of 16-bit types, else f32; behind it exceptions by module (attention, "
          "feed_forward, lm_head, kv_cache), as in int8,lm_head=bf16,kv_cache=int8. Without one "
          "the KV cache is bf16, beside f32 f32, and the head of int4 is int8");
ABSL_FLAG(
    std::string, packed_cache, "auto",
    "Where packed weights and their digest are kept for the next start: auto = beside the "
    "weights in .phyllo, or in the user's cache folder if that cannot be written, and nowhere "
    "for a model below 64 MiB; off; or a folder");
ABSL_FLAG(std::string, share_weights, "auto",
          "Computes from a shared map of the packed file instead of a copy of it, so that replicas "
          "on one machine hold the weights once and nothing is copied at the start: auto = if the "
          "kernel maps the file in huge pages, on, or off");
ABSL_FLAG(bool, verify_weights, false,
          "Reads every byte of the weights for their digest, whatever is known of the files");
ABSL_FLAG(int, threads, 0,
          "Threads that compute. 0: physical cores within the CPU set and quota. Range [0, 1024]");
ABSL_FLAG(bool, pin_threads, false, "Pins the threads that compute to CPUs");
ABSL_FLAG(int64_t, max_batch_tokens, 320,
          "Rows of one step: prompt tokens and one for every running sequence. Range [1, 65536]");
ABSL_FLAG(int64_t, max_prefill_tokens, 256,
          "Most prompt tokens of one step; while others generate, max_step_stretch allows fewer. "
          "Range [1, max_batch_tokens]");
ABSL_FLAG(double, max_step_stretch, 2.5,
          "How many times as long as one without prompt tokens, in which all sequences generate, a "
          "step may take: what those who generate wait for when prompts arrive. 16 prompt tokens "
          "may always join. Range [1, 1000]");
ABSL_FLAG(int64_t, max_sequences, 64, "Sequences in the batch. Range [1, max_batch_tokens]");
ABSL_FLAG(int64_t, max_queue_sequences, 1024,
          "Sequences that may wait; more get RESOURCE_EXHAUSTED. At least 0");
ABSL_FLAG(int64_t, max_queue_tokens, 262144,
          "Tokens of the sequences that may wait; more get RESOURCE_EXHAUSTED. At least 1");
ABSL_FLAG(int64_t, max_sequence_length, 0,
          "Tokens of one sequence, prompt and answer. 0: what the model and the KV cache admit");
ABSL_FLAG(int64_t, page_size, 64,
          "Tokens of a page of the KV cache: a multiple of 16. Range [16, 128]");
ABSL_FLAG(int64_t, kv_cache_bytes, 0,
          "Size of the KV cache. 0: half of the memory that is available beside the weights");
ABSL_FLAG(int64_t, memory_bytes, 0,
          "Memory that the process may use, all in all. 0: what the cgroup and the machine have "
          "available. The start fails if the other limits could lead beyond it");
ABSL_FLAG(int64_t, max_request_bytes, 0,
          "Memory of all requests and streams, waiting ones included, and of answers that are not "
          "read yet; more get RESOURCE_EXHAUSTED. 0: a 16th of the memory, from 64 MiB to 1 GiB");
ABSL_FLAG(
    bool, prefix_cache, true,
    "Keeps keys and values of past tokens, as long as their memory is not needed, for requests "
    "that begin with the same tokens. The answers are the same with and without");
ABSL_FLAG(std::string, speculation, "auto",
          "Speculative decoding for requests that do not say: auto drafts tokens where that is "
          "expected to be faster, on wherever there is something to draft, off never. The answers "
          "are the same");
ABSL_FLAG(std::string, draft_model, "",
          "Folder or GGUF file of a small model with the same tokenizer, which drafts where a "
          "sequence's own tokens give no draft. It takes a quarter of the memory. Empty: none");
ABSL_FLAG(int64_t, max_draft_tokens, 8,
          "Most tokens drafted for a sequence at once. Range [1, 16]");
ABSL_FLAG(int64_t, max_unread_entries, 65536,
          "Tokens (and log-probabilities) that wait for a slow reader before its stream ends with "
          "RESOURCE_EXHAUSTED. At least 1");
ABSL_FLAG(absl::Duration, message_interval, absl::Milliseconds(10),
          "Tokens behind a stream's first that come faster than this leave together; those of many "
          "streams on few CPUs after a longer time. 0: at once");
ABSL_FLAG(absl::Duration, max_rows_wait, absl::Seconds(60), "How long rows asked for may take");
ABSL_FLAG(absl::Duration, stuck_step_limit, absl::Seconds(120),
          "A step that takes longer turns health to NOT_SERVING until it ends");

namespace phyllo {
namespace {

constexpr char kUsage[] =
    R"(Phyllo's transformer service: the decoder layers, the KV cache, the batch and the sampler of a model.

  transformer --model=/models/qwen3 --listen=127.0.0.1:50053
  transformer --model=/models/qwen3 --listen=unix:/run/phyllo/transformer.sock --metrics_address=127.0.0.1:9103
  transformer --model=/models/qwen3 --threads=8 --precision=bf16 --kv_cache_bytes=4294967296
  transformer --model=/models/qwen3-8b --draft_model=/models/qwen3-0.6b

The weights are packed at the first start, in memory of their own, and kept for the next one (--packed_cache); every byte of the checkpoint
is read for its digest, unless its files are as they were (--verify_weights), and one token is computed before health says SERVING.
The interface is proto/phyllo/transformer/v1. SIGTERM drains, a second one stops at once.)";

absl::Time MonotonicNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

TransformerSettings ReadSettings() {
  return {.model = absl::GetFlag(FLAGS_model),
          .precision = absl::GetFlag(FLAGS_precision),
          .packed_cache = absl::GetFlag(FLAGS_packed_cache),
          .share_weights = absl::GetFlag(FLAGS_share_weights),
          .verify_weights = absl::GetFlag(FLAGS_verify_weights),
          .threads = absl::GetFlag(FLAGS_threads),
          .pin_threads = absl::GetFlag(FLAGS_pin_threads),
          .max_batch_tokens = absl::GetFlag(FLAGS_max_batch_tokens),
          .max_prefill_tokens = absl::GetFlag(FLAGS_max_prefill_tokens),
          .max_step_stretch = absl::GetFlag(FLAGS_max_step_stretch),
          .max_sequences = absl::GetFlag(FLAGS_max_sequences),
          .max_queue_sequences = absl::GetFlag(FLAGS_max_queue_sequences),
          .max_queue_tokens = absl::GetFlag(FLAGS_max_queue_tokens),
          .max_sequence_length = absl::GetFlag(FLAGS_max_sequence_length),
          .page_size = absl::GetFlag(FLAGS_page_size),
          .kv_cache_bytes = absl::GetFlag(FLAGS_kv_cache_bytes),
          .memory_bytes = absl::GetFlag(FLAGS_memory_bytes),
          .max_request_bytes = absl::GetFlag(FLAGS_max_request_bytes),
          .prefix_cache = absl::GetFlag(FLAGS_prefix_cache),
          .speculation = absl::GetFlag(FLAGS_speculation),
          .draft_model = absl::GetFlag(FLAGS_draft_model),
          .max_draft_tokens = absl::GetFlag(FLAGS_max_draft_tokens),
          .max_unread_entries = absl::GetFlag(FLAGS_max_unread_entries),
          .max_rows_wait = absl::GetFlag(FLAGS_max_rows_wait)};
}

absl::StatusOr<common::v1::ServerInfo> DescribeServer(const LocalStepModel& model,
                                                      const std::string& folder) {
  common::v1::ServerInfo info;
  info.set_model(ModelName(absl::GetFlag(FLAGS_model_name), folder));
  PHYLLO_ASSIGN_OR_RETURN(*info.mutable_fingerprint(), FingerprintFolder(folder));
  info.mutable_fingerprint()->set_weights_sha256(DigestBytes(model.cache().weights_digest.sha256));
  info.set_instruction_set(InstructionSetName());
  info.set_precision(model.precision().ToString());
  return info;
}

// How the models are loaded with what requests and gRPC leave of the memory for them.
LocalStepModelOptions ReadModelOptions(const TransformerSettings& settings,
                                       const HostResources& host, ServiceProcess& process) {
  LocalStepModelOptions options = ModelOptionsFrom(settings, host);
  process.logger().Info("host", {{"cpus", host.cpus.size()},
                                 {"physical_cores", host.physical_core_cpus.size()},
                                 {"cpu_quota", host.cpu_quota.value_or(0.0)},
                                 {"available_memory_bytes", host.available_memory_bytes},
                                 {"threads", options.num_threads}});
  int64_t& max_transport_bytes = process.server_options().max_transport_bytes;
  max_transport_bytes = TransportBytesFor(options.memory_bytes, max_transport_bytes);
  options.memory_bytes -= MaxRequestBytesFrom(settings, options.memory_bytes) + max_transport_bytes;
  options.progress = [&process](absl::string_view activity, int64_t done_bytes,
                                int64_t total_bytes) {
    process.load_progress().Report(activity, done_bytes, total_bytes);
  };
  return options;
}

// Measures what steps cost on this machine, for the prompts that join them and for drafts.
absl::StatusOr<EngineOptions> ReadEngineOptions(const TransformerSettings& settings,
                                                const ServedModels& models) {
  EngineOptions options = EngineOptionsFrom(settings);
  options.eos_token_ids = EosTokenIds(*models.model);
  options.now = MonotonicNow;
  options.speculation.drafter = models.draft.drafter.get();
  PHYLLO_ASSIGN_OR_RETURN(options.step_cost, MeasureStepCost(*models.model, {.now = MonotonicNow}));
  return options;
}

// Checks what the process may come to use against `memory_limit`, and how large a message it has to
// take.
absl::Status LimitMemory(const ServedModels& models, const EngineOptions& options,
                         int64_t memory_limit, ServiceProcess& process) {
  const MemoryNeeds needs = NeedsOf(models, options, process.server_options().max_transport_bytes);
  process.logger().Info("memory", {{"limit_bytes", memory_limit},
                                   {"most_bytes", needs.total()},
                                   {"loaded_bytes", needs.loaded},
                                   {"kv_cache_bytes", needs.kv_cache},
                                   {"max_request_bytes", needs.requests}});
  process.server_options().max_receive_message_bytes =
      static_cast<int>(MaxRequestMessageBytes(models.model->sizes(), options));
  return CheckMemoryNeeds(needs, memory_limit);
}

absl::Status Serve(ServiceProcess& process, int& exit_code) {
  const absl::Time start = MonotonicNow();
  const TransformerSettings settings = ReadSettings();
  PHYLLO_RETURN_IF_ERROR(CheckSettings(settings));
  const HostResources host = DetectHostResources();
  const int64_t memory_limit = ModelOptionsFrom(settings, host).memory_bytes;
  MemoryBudget request_memory("max_request_bytes", MaxRequestBytesFrom(settings, memory_limit));
  PHYLLO_ASSIGN_OR_RETURN(const ServedModels models,
                          LoadServedModels(ReadModelOptions(settings, host, process),
                                           settings.draft_model, process.logger()));
  LocalStepModel& model = *models.model;
  PHYLLO_ASSIGN_OR_RETURN(common::v1::ServerInfo server_info,
                          DescribeServer(model, settings.model));
  const std::vector<LoadedWeights> weights = models.weights();
  LogWeights(weights, process.logger());
  EngineMetrics metrics(process.metrics());
  PHYLLO_ASSIGN_OR_RETURN(EngineOptions engine_options, ReadEngineOptions(settings, models));
  engine_options.request_memory = &request_memory;
  engine_options.observer = &metrics;
  PHYLLO_RETURN_IF_ERROR(LimitMemory(models, engine_options, memory_limit, process));
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                          Engine::Create(model, std::move(engine_options)));
  metrics.AddGauges(*engine, request_memory);
  ReportReady(model, engine->limits(), MonotonicNow() - start, process.metrics(), process.logger());

  const ServerIdentity identity(std::move(server_info));
  NewsDispatcher dispatcher(absl::GetFlag(FLAGS_message_interval), host.CpuCount());
  TransformerServiceImpl service({.engine = *engine,
                                  .dispatcher = dispatcher,
                                  .hidden_size = model.sizes().hidden_size,
                                  .request_memory = &request_memory},
                                 identity, DescribeModel(model, engine->limits()));
  std::thread steps([&engine] { engine->Run(); });
  std::unique_ptr<StepWatchdog> watchdog;
  std::vector<std::unique_ptr<PackedImageWriter>> writers;
  exit_code =
      process.Run({{&service, transformer::v1::TransformerService::service_full_name()}},
                  {.on_started =
                       [&](Server& server) {
                         watchdog = std::make_unique<StepWatchdog>(
                             *engine, absl::GetFlag(FLAGS_stuck_step_limit), absl::Seconds(1),
                             [&server](bool healthy) { server.SetServing(healthy); });
                         writers = KeepWeights(weights, process.logger());
                       },
                   .on_drain =
                       [&] {
                         for (const auto& writer : writers) writer->Stop();
                         engine->Drain();
                       },
                   .on_stopped = [&] { watchdog.reset(); }});
  engine->Stop();
  steps.join();
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  ServiceProcess process(ParseServiceFlags("transformer", "127.0.0.1:50053", kUsage, argc, argv));
  int exit_code = 0;
  const absl::Status status = Serve(process, exit_code);
  return status.ok() ? exit_code : process.Fail(status);
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
