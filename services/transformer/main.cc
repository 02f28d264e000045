// The transformer service's binary.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "model/base/host_resources.h"
#include "model/base/memory_budget.h"
#include "model/base/status_macros.h"
#include "model/packed_cache/packed_image.h"
#include "model/packed_cache/packed_image_writer.h"
#include "model/transformer/instruction_set.h"
#include "model/transformer/precision/model_precision.h"
#include "services/common/server_identity.h"
#include "services/common/service_flags.h"
#include "services/common/service_process.h"
#include "services/transformer/draft_model/draft_model.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/scheduling/measure_step_cost.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/speculation/speculation_options.h"
#include "services/transformer/local_step_model.h"
#include "services/transformer/memory/memory_needs.h"
#include "services/transformer/model_info.h"
#include "services/transformer/model_report.h"
#include "services/transformer/monitoring/engine_metrics.h"
#include "services/transformer/monitoring/step_watchdog.h"
#include "services/transformer/news_dispatcher.h"
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
          "How many times as long as without prompt tokens a step may take: what those who "
          "generate wait for when prompts arrive. 16 prompt tokens may always join. Range [1, "
          "1000]");
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
          "Tokens behind a stream's first that come faster than this leave together. 0: at once");
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

absl::StatusOr<SpeculationMode> ParseSpeculation(const std::string& text) {
  if (text == "auto") return SpeculationMode::kAuto;
  if (text == "on") return SpeculationMode::kOn;
  if (text == "off") return SpeculationMode::kOff;
  return absl::InvalidArgumentError(
      absl::StrCat("--speculation is \"", text, "\", must be auto, on or off"));
}

absl::StatusOr<ImageMemory> ParseShareWeights(const std::string& text) {
  if (text == "auto") return ImageMemory::kAutomatic;
  if (text == "on") return ImageMemory::kShared;
  if (text == "off") return ImageMemory::kPrivate;
  return absl::InvalidArgumentError(
      absl::StrCat("--share_weights is \"", text, "\", must be auto, on or off"));
}

std::optional<int64_t> IfPositive(int64_t value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

absl::StatusOr<LocalStepModelOptions> ReadModelOptions(ServiceProcess& process) {
  constexpr int64_t kUnlimited = int64_t{1} << 40;
  LocalStepModelOptions options;
  options.model_folder = absl::GetFlag(FLAGS_model);
  if (options.model_folder.empty())
    return absl::InvalidArgumentError("--model is required; try --help");
  PHYLLO_ASSIGN_OR_RETURN(options.precision, ParsePrecisionChoice(absl::GetFlag(FLAGS_precision)));
  options.max_rows = absl::GetFlag(FLAGS_max_batch_tokens);
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange("max_batch_tokens", options.max_rows, 1, 65536));
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange(
      "max_prefill_tokens", absl::GetFlag(FLAGS_max_prefill_tokens), 1, options.max_rows));
  PHYLLO_RETURN_IF_ERROR(
      CheckFlagRange("max_sequences", absl::GetFlag(FLAGS_max_sequences), 1, options.max_rows));
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange(
      "max_sequence_length", absl::GetFlag(FLAGS_max_sequence_length), 0, int64_t{1} << 31));
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange("threads", absl::GetFlag(FLAGS_threads), 0, 1024));
  PHYLLO_RETURN_IF_ERROR(
      CheckFlagRange("memory_bytes", absl::GetFlag(FLAGS_memory_bytes), 0, kUnlimited));
  PHYLLO_RETURN_IF_ERROR(
      CheckFlagRange("max_request_bytes", absl::GetFlag(FLAGS_max_request_bytes), 0, kUnlimited));
  options.page_size = absl::GetFlag(FLAGS_page_size);
  PHYLLO_RETURN_IF_ERROR(CheckFlagRange("page_size", options.page_size, 16, 128));
  PHYLLO_RETURN_IF_ERROR(
      CheckFlagRange("kv_cache_bytes", absl::GetFlag(FLAGS_kv_cache_bytes), 0, kUnlimited));
  options.kv_cache_bytes = IfPositive(absl::GetFlag(FLAGS_kv_cache_bytes));
  options.max_sequences = absl::GetFlag(FLAGS_max_sequences);
  options.max_sequence_length = IfPositive(absl::GetFlag(FLAGS_max_sequence_length));
  const HostResources host = DetectHostResources();
  options.num_threads =
      absl::GetFlag(FLAGS_threads) > 0 ? absl::GetFlag(FLAGS_threads) : host.ThreadCount();
  options.pin_threads = absl::GetFlag(FLAGS_pin_threads);
  options.memory_bytes = host.available_memory_bytes;
  process.logger().Info("host", {{"cpus", host.cpus.size()},
                                 {"physical_cores", host.physical_core_cpus.size()},
                                 {"cpu_quota", host.cpu_quota.value_or(0.0)},
                                 {"available_memory_bytes", host.available_memory_bytes},
                                 {"threads", options.num_threads}});
  options.cache = {.packed_cache = absl::GetFlag(FLAGS_packed_cache),
                   .verify_weights = absl::GetFlag(FLAGS_verify_weights)};
  PHYLLO_ASSIGN_OR_RETURN(options.cache.image_memory,
                          ParseShareWeights(absl::GetFlag(FLAGS_share_weights)));
  options.progress = [&process](absl::string_view activity, int64_t done_bytes,
                                int64_t total_bytes) {
    process.load_progress().Report(activity, done_bytes, total_bytes);
  };
  return options;
}

absl::StatusOr<SpeculationOptions> ReadSpeculationOptions() {
  SpeculationOptions options;
  options.now = MonotonicNow;
  PHYLLO_ASSIGN_OR_RETURN(options.mode, ParseSpeculation(absl::GetFlag(FLAGS_speculation)));
  options.max_draft_tokens = absl::GetFlag(FLAGS_max_draft_tokens);
  return options;
}

int64_t MemoryLimit(const LocalStepModelOptions& options) {
  const int64_t flag = absl::GetFlag(FLAGS_memory_bytes);
  return flag > 0 ? flag : options.memory_bytes;
}

int64_t MaxRequestBytes(int64_t memory_limit) {
  const int64_t flag = absl::GetFlag(FLAGS_max_request_bytes);
  return flag > 0 ? flag
                  : std::clamp<int64_t>(memory_limit / 16, int64_t{64} << 20, int64_t{1} << 30);
}

EngineOptions ReadEngineOptions(const LocalStepModel& model, SpeculationOptions speculation,
                                EngineObserver& observer, MemoryBudget& request_memory) {
  return {.max_prefill_rows = absl::GetFlag(FLAGS_max_prefill_tokens),
          .max_step_stretch = absl::GetFlag(FLAGS_max_step_stretch),
          .max_sequences = absl::GetFlag(FLAGS_max_sequences),
          .max_queue_sequences = absl::GetFlag(FLAGS_max_queue_sequences),
          .max_queue_tokens = absl::GetFlag(FLAGS_max_queue_tokens),
          .max_unread_entries = absl::GetFlag(FLAGS_max_unread_entries),
          .request_memory = &request_memory,
          .max_rows_wait = absl::GetFlag(FLAGS_max_rows_wait),
          .max_sequence_length = IfPositive(absl::GetFlag(FLAGS_max_sequence_length)),
          .eos_token_ids = EosTokenIds(model),
          .now = MonotonicNow,
          .prefix_cache = absl::GetFlag(FLAGS_prefix_cache),
          .speculation = std::move(speculation),
          .observer = &observer};
}

// The draft model, if there is one; `options` are its own then.
absl::StatusOr<DraftModel> ReadDraftModel(const std::optional<LocalStepModelOptions>& options,
                                          LocalStepModel& model, Logger& logger) {
  if (!options) return DraftModel{};
  PHYLLO_ASSIGN_OR_RETURN(DraftModel draft,
                          LoadDraftModel(*options, absl::GetFlag(FLAGS_model), model));
  PHYLLO_RETURN_IF_ERROR(WarmUp(*draft.model));
  logger.Info("draft model ready", {{"precision", draft.model->precision().ToString()},
                                    {"kv_bytes_per_token", draft.model->kv_bytes_per_token()}});
  return draft;
}

std::vector<LoadedWeights> WeightsOf(const LocalStepModel& model, const DraftModel& draft) {
  const auto weights_of = [](std::string name, const LocalStepModel& loaded) {
    return LoadedWeights{.model = std::move(name),
                         .cache = &loaded.cache(),
                         .image_status = loaded.weights().image_status,
                         .shared = loaded.weights().shared,
                         .arena = &loaded.weights().arena};
  };
  std::vector<LoadedWeights> weights = {weights_of("model", model)};
  if (draft.model != nullptr) weights.push_back(weights_of("draft_model", *draft.model));
  return weights;
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

// Weights that are in the page cache, which computing needs all the same.
int64_t SharedBytes(const LocalStepModel& model) {
  return model.weights().shared ? model.weights().arena.bytes() : 0;
}

// What the process may come to use, and how large a message it has to take; checked against
// `memory_limit`.
absl::Status LimitMemory(const LocalStepModel& model, const DraftModel& draft,
                         const EngineOptions& options, int64_t memory_limit,
                         ServiceProcess& process) {
  MemoryNeeds needs =
      NeedsOf(model, options,
              {.loaded_bytes = ReadAnonymousBytes() + SharedBytes(model) +
                               (draft.model != nullptr ? SharedBytes(*draft.model) : 0),
               .kv_bytes_per_token = model.kv_bytes_per_token(),
               .max_request_bytes = options.request_memory->limit_bytes(),
               .max_transport_bytes = process.server_options().max_transport_bytes,
               .reading_threads = 2 + static_cast<int64_t>(std::thread::hardware_concurrency())});
  if (draft.model != nullptr)
    needs.kv_cache += KvCacheBytes(*draft.model, draft.model->kv_bytes_per_token());
  process.logger().Info("memory", {{"limit_bytes", memory_limit},
                                   {"most_bytes", needs.total()},
                                   {"loaded_bytes", needs.loaded},
                                   {"kv_cache_bytes", needs.kv_cache},
                                   {"max_request_bytes", needs.requests}});
  process.server_options().max_receive_message_bytes =
      static_cast<int>(MaxRequestMessageBytes(model.sizes(), options));
  return CheckMemoryNeeds(needs, memory_limit);
}

// Takes what requests and gRPC may use from the memory for the model.
void ReserveRequestMemory(const MemoryBudget& request_memory, int64_t memory_limit,
                          ServiceProcess& process, LocalStepModelOptions& options) {
  int64_t& max_transport_bytes = process.server_options().max_transport_bytes;
  max_transport_bytes = TransportBytesFor(memory_limit, max_transport_bytes);
  options.memory_bytes = memory_limit - request_memory.limit_bytes() - max_transport_bytes;
}

// Computes a first token; then what steps cost on this machine, for the prompts that join them and
// for drafts.
absl::Status MeasureCosts(LocalStepModel& model, EngineOptions& options) {
  PHYLLO_RETURN_IF_ERROR(WarmUp(model));
  PHYLLO_ASSIGN_OR_RETURN(options.step_cost, MeasureStepCost(model, {.now = MonotonicNow}));
  PHYLLO_ASSIGN_OR_RETURN(const StepCost cost, StepCost::Create(*options.step_cost));
  options.speculation.step_cost = [cost](int64_t rows) {
    return cost.Seconds({.row_count = rows, .logits_row_count = rows});
  };
  return absl::OkStatus();
}

absl::Status Serve(ServiceProcess& process, int& exit_code) {
  const absl::Time start = MonotonicNow();
  PHYLLO_ASSIGN_OR_RETURN(LocalStepModelOptions options, ReadModelOptions(process));
  PHYLLO_ASSIGN_OR_RETURN(SpeculationOptions speculation, ReadSpeculationOptions());
  const int64_t memory_limit = MemoryLimit(options);
  MemoryBudget request_memory("max_request_bytes", MaxRequestBytes(memory_limit));
  ReserveRequestMemory(request_memory, memory_limit, process, options);
  std::optional<LocalStepModelOptions> draft_options;
  if (const std::string folder = absl::GetFlag(FLAGS_draft_model); !folder.empty())
    draft_options = SplitOffDraftModel(folder, options);
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<LocalStepModel> model,
                          LocalStepModel::Load(options));
  PHYLLO_ASSIGN_OR_RETURN(common::v1::ServerInfo server_info,
                          DescribeServer(*model, options.model_folder));
  PHYLLO_ASSIGN_OR_RETURN(const DraftModel draft,
                          ReadDraftModel(draft_options, *model, process.logger()));
  speculation.drafter = draft.drafter.get();
  const std::vector<LoadedWeights> weights = WeightsOf(*model, draft);
  LogWeights(weights, process.logger());
  EngineMetrics metrics(process.metrics());
  EngineOptions engine_options =
      ReadEngineOptions(*model, std::move(speculation), metrics, request_memory);
  PHYLLO_RETURN_IF_ERROR(MeasureCosts(*model, engine_options));
  PHYLLO_RETURN_IF_ERROR(LimitMemory(*model, draft, engine_options, memory_limit, process));
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                          Engine::Create(*model, std::move(engine_options)));
  metrics.AddGauges(*engine, request_memory);
  ReportReady(*model, engine->limits(), MonotonicNow() - start, process.metrics(),
              process.logger());

  const ServerIdentity identity(std::move(server_info));
  NewsDispatcher dispatcher(absl::GetFlag(FLAGS_message_interval));
  TransformerServiceImpl service({.engine = *engine,
                                  .dispatcher = dispatcher,
                                  .hidden_size = model->sizes().hidden_size,
                                  .request_memory = &request_memory},
                                 identity, DescribeModel(*model, engine->limits()));
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
