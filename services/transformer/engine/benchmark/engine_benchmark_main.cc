// What the engine itself costs in a step of decoding, what preemption costs, and how long those who
// generate wait while prompts arrive. kUsage says more.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/sampling/logits_row.h"
#include "model/transformer/precision/model_precision.h"
#include "services/transformer/engine/benchmark/benchmark_streams.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/scheduling/measure_step_cost.h"
#include "services/transformer/engine/testing/forwarding_step_model.h"
#include "services/transformer/local_step_model.h"

ABSL_FLAG(std::string, model, "", "Model folder or GGUF file. Required");
ABSL_FLAG(std::string, precision, "auto", "As --precision of the transformer service");
ABSL_FLAG(int, threads, 0, "Threads that compute. 0: all CPUs");
ABSL_FLAG(int64_t, streams, 32, "Sequences that generate, all from the beginning");
ABSL_FLAG(int64_t, prompt_tokens, 32, "Of each of them");
ABSL_FLAG(int64_t, tokens, 200, "That each of them generates, at least 2");
ABSL_FLAG(double, temperature, 0.0, "0: greedy, else sampled with top_k 50");
ABSL_FLAG(int64_t, kv_cache_bytes, int64_t{2} << 30,
          "Too little for all sequences at their ends brings about preemptions");
ABSL_FLAG(bool, prefix_cache, true, "Whether what a preempted sequence has computed may be found");
ABSL_FLAG(bool, speculation, false, "Drafts as --speculation=auto of the transformer service");
ABSL_FLAG(int64_t, arrival_steps, 0,
          "Steps after which a further prompt arrives, again and again, as long as the streams "
          "generate; it gets one token. 0: never");
ABSL_FLAG(int64_t, arrival_tokens, 512, "Of each of these prompts");
ABSL_FLAG(double, max_step_stretch, 2.5, "As --max_step_stretch of the transformer service");
ABSL_FLAG(int64_t, max_prefill_tokens, 256, "As --max_prefill_tokens of the transformer service");

namespace phyllo {
namespace {

constexpr char kUsage[] =
    R"(Steps an engine by hand, with a real model, and measures it:
  bazel run //services/transformer/engine/benchmark:engine_benchmark -- --model=DIR --streams=32

Prints the medians over the steps without prompt rows of the time of the whole step and of its parts: Forward, the LM head, sampling,
and what is left, the engine's own. Then the speed of all steps, and how many prompt rows were computed beyond those of the prompts,
which preemption brings about. Last how long the steps were in which sequences decoded, with and without prompt rows: this is what a
client waits for its next token.)";

// Seconds of the parts of a step.
struct Parts {
  double forward = 0.0;
  double head = 0.0;
  double sampling = 0.0;
  double step = 0.0;
  double engine() const { return step - forward - head - sampling; }
};

// The model, with a watch. Thread-compatible.
class TimedModel final : public ForwardingStepModel {
 public:
  using ForwardingStepModel::ForwardingStepModel;

  absl::Status Forward(absl::Span<const StepSlice> slices,
                       MatrixView<float> hidden_states) override {
    const absl::Time begin = BenchmarkNow();
    const absl::Status status = ForwardingStepModel::Forward(slices, hidden_states);
    parts_.forward += absl::ToDoubleSeconds(BenchmarkNow() - begin);
    return status;
  }
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits) override {
    const absl::Time begin = BenchmarkNow();
    const absl::Status status =
        ForwardingStepModel::ComputeLogits(rows, hidden_states, largest, logits);
    parts_.head += absl::ToDoubleSeconds(BenchmarkNow() - begin);
    return status;
  }
  void ParallelFor(int64_t num_tasks,
                   absl::FunctionRef<void(int64_t task, int worker)> function) override {
    const absl::Time begin = BenchmarkNow();
    ForwardingStepModel::ParallelFor(num_tasks, function);
    parts_.sampling += absl::ToDoubleSeconds(BenchmarkNow() - begin);
  }

  // What was measured since the last call.
  Parts Take() { return std::exchange(parts_, Parts()); }

 private:
  Parts parts_;
};

// Keeps what a run of the engine was like.
class Measurement final : public EngineObserver {
 public:
  void OnStep(const StepReport& report) override {
    last_ = report;
    prefill_row_count += report.prefill_row_count;
    preemption_count += report.preempted_count;
  }
  void OnFinished(const SequenceResult& /*result*/) override {}

  // A step that computed, which took these parts.
  void Add(const Parts& parts) {
    seconds += parts.step;
    if (last_.decode_row_count == 0) return;
    if (last_.prefill_row_count > 0) {
      seconds_with_prompts.push_back(parts.step);
    } else {
      decode_steps.push_back(parts);
    }
  }

  std::vector<Parts> decode_steps;           // without prompt rows
  std::vector<double> seconds_with_prompts;  // of steps with both
  double seconds = 0.0;                      // of all steps
  int64_t prefill_row_count = 0;
  int64_t preemption_count = 0;
  int64_t prompt_token_count = 0;  // of all prompts

 private:
  StepReport last_;
};

// No two of them begin alike.
SequenceRequest Request(int64_t number, int64_t prompt_tokens, int64_t tokens, int64_t vocab_size) {
  SequenceRequest request;
  for (int64_t i = 0; i < prompt_tokens; ++i) {
    request.prompt_token_ids.push_back(
        static_cast<int32_t>((i * 7919 + number * 104729) % vocab_size));
  }
  request.max_new_tokens = tokens;
  request.ignore_eos = true;
  request.sampling.temperature = static_cast<float>(absl::GetFlag(FLAGS_temperature));
  request.sampling.top_k = 50;
  request.sampling.seed = static_cast<uint64_t>(number);
  return request;
}

absl::Status Measure(TimedModel& model, const StepCostTable& cost, Measurement& measurement) {
  const int64_t vocab_size = model.sizes().vocab_size;
  const int64_t stream_count = absl::GetFlag(FLAGS_streams);
  PHYLLO_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Create(
          model, {.max_prefill_rows = absl::GetFlag(FLAGS_max_prefill_tokens),
                  .step_cost = cost,
                  .max_step_stretch = absl::GetFlag(FLAGS_max_step_stretch),
                  .now = BenchmarkNow,
                  .prefix_cache = absl::GetFlag(FLAGS_prefix_cache),
                  .speculation = {.mode = absl::GetFlag(FLAGS_speculation) ? SpeculationMode::kAuto
                                                                           : SpeculationMode::kOff},
                  .observer = &measurement}));
  BenchmarkStreams streams(model, *engine);
  BenchmarkStreams arriving(model, *engine);
  for (int64_t i = 0; i < stream_count; ++i) {
    const SequenceRequest request =
        Request(i, absl::GetFlag(FLAGS_prompt_tokens), absl::GetFlag(FLAGS_tokens), vocab_size);
    measurement.prompt_token_count += absl::GetFlag(FLAGS_prompt_tokens);
    PHYLLO_RETURN_IF_ERROR(streams.Add(request));
  }
  const int64_t arrival_steps = absl::GetFlag(FLAGS_arrival_steps);
  for (int64_t step = 1; streams.alive_count() + arriving.alive_count() > 0; ++step) {
    if (arrival_steps > 0 && step % arrival_steps == 0 && streams.alive_count() > 0) {
      measurement.prompt_token_count += absl::GetFlag(FLAGS_arrival_tokens);
      PHYLLO_RETURN_IF_ERROR(arriving.Add(
          Request(stream_count + step, absl::GetFlag(FLAGS_arrival_tokens), 1, vocab_size)));
    }
    (void)model.Take();
    const absl::Time begin = BenchmarkNow();
    engine->RunOneStep();
    Parts parts = model.Take();
    parts.step = absl::ToDoubleSeconds(BenchmarkNow() - begin);
    if (parts.forward > 0.0) measurement.Add(parts);
    PHYLLO_RETURN_IF_ERROR(streams.Serve());
    PHYLLO_RETURN_IF_ERROR(arriving.Serve());
  }
  return absl::OkStatus();
}

double Median(const std::vector<Parts>& steps, absl::FunctionRef<double(const Parts&)> value_of) {
  std::vector<double> values;
  for (const Parts& parts : steps) values.push_back(1e6 * value_of(parts));
  return Quantile(std::move(values), 0.5);
}

void Print(const Measurement& measurement) {
  const std::vector<Parts>& steps = measurement.decode_steps;
  std::printf(
      "%zu steps without prompts, medians in us: step %.0f, Forward %.0f, head %.0f, "
      "sampling %.0f, engine %.0f\n",
      steps.size(), Median(steps, [](const Parts& parts) { return parts.step; }),
      Median(steps, [](const Parts& parts) { return parts.forward; }),
      Median(steps, [](const Parts& parts) { return parts.head; }),
      Median(steps, [](const Parts& parts) { return parts.sampling; }),
      Median(steps, [](const Parts& parts) { return parts.engine(); }));
  std::printf(
      "%.3f s, %.0f tokens/s; %lld preemptions, %lld prompt rows beyond those of the prompts\n",
      measurement.seconds,
      static_cast<double>(absl::GetFlag(FLAGS_streams) * absl::GetFlag(FLAGS_tokens)) /
          measurement.seconds,
      static_cast<long long>(measurement.preemption_count),
      static_cast<long long>(
          std::max<int64_t>(0, measurement.prefill_row_count - measurement.prompt_token_count)));
  std::vector<double> gaps = measurement.seconds_with_prompts;
  for (const Parts& parts : steps) gaps.push_back(parts.step);
  std::printf("between tokens, ms: p50 %.2f, p99 %.2f, most %.2f", 1e3 * Quantile(gaps, 0.5),
              1e3 * Quantile(gaps, 0.99), 1e3 * Quantile(gaps, 1.0));
  if (const std::vector<double>& mixed = measurement.seconds_with_prompts; !mixed.empty()) {
    std::printf("; of %zu steps with prompts p50 %.2f, p99 %.2f", mixed.size(),
                1e3 * Quantile(mixed, 0.5), 1e3 * Quantile(mixed, 0.99));
  }
  std::printf("\n");
}

absl::Status Run() {
  if (absl::GetFlag(FLAGS_model).empty() || absl::GetFlag(FLAGS_streams) < 1 ||
      absl::GetFlag(FLAGS_prompt_tokens) < 1 || absl::GetFlag(FLAGS_tokens) < 2)
    return absl::InvalidArgumentError(
        "wants --model, --streams and --prompt_tokens >= 1, --tokens >= 2; try --help");
  PHYLLO_ASSIGN_OR_RETURN(const PrecisionChoice precision,
                          ParsePrecisionChoice(absl::GetFlag(FLAGS_precision)));
  const int threads = absl::GetFlag(FLAGS_threads);
  PHYLLO_ASSIGN_OR_RETURN(
      const std::unique_ptr<LocalStepModel> loaded,
      LocalStepModel::Load(
          {.model_folder = absl::GetFlag(FLAGS_model),
           .precision = precision,
           .num_threads =
               threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency()),
           .max_rows = 320,
           .kv_cache_bytes = absl::GetFlag(FLAGS_kv_cache_bytes)}));
  PHYLLO_ASSIGN_OR_RETURN(const StepCostTable cost,
                          MeasureStepCost(*loaded, {.now = BenchmarkNow}));
  TimedModel model(*loaded);
  Measurement measurement;
  PHYLLO_RETURN_IF_ERROR(Measure(model, cost, measurement));
  Print(measurement);
  return absl::OkStatus();
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  return phyllo::RunBenchmark(argc, argv, phyllo::kUsage, phyllo::Run);
}
