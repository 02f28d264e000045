// What the engine itself costs in a step of decoding:
//   bazel run //services/transformer/engine/benchmark:engine_benchmark -- ARGUMENTS
// with the arguments MODEL PRECISION STREAMS TOKENS [TEMPERATURE [KV_CACHE_BYTES]].
// Decodes TOKENS tokens of STREAMS sequences with prompts of 32 tokens. Prints the medians over the
// steps of the time of the whole step and of its parts: Forward, the LM head, sampling, and what is
// left, the engine's own. Then the speed of all steps, prompts included, with the number of
// preemptions, which a small KV cache brings about.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/sampling/logits_row.h"
#include "model/transformer/precision/model_precision.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {
namespace {

absl::Time Now() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Seconds of the parts of a step.
struct Parts {
  double forward = 0.0;
  double head = 0.0;
  double sampling = 0.0;
  double step = 0.0;
  double engine() const { return step - forward - head - sampling; }
};

// The model, with a watch. Thread-compatible.
class TimedModel final : public StepModel {
 public:
  explicit TimedModel(LocalStepModel& model) : model_(model) {}

  const StepModelSizes& sizes() const override { return model_.sizes(); }
  absl::Span<const KvPageGroup> page_groups() const override { return model_.page_groups(); }
  void CopyPage(int64_t group, int32_t source, int32_t target) override {
    model_.CopyPage(group, source, target);
  }
  int64_t ReusablePositions(int64_t prompt_length) const override {
    return model_.ReusablePositions(prompt_length);
  }
  absl::Status Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                     absl::Span<float> out) override {
    return model_.Embed(token_ids, first_position, out);
  }
  absl::Status Forward(absl::Span<const StepSlice> slices,
                       MatrixView<float> hidden_states) override {
    const absl::Time begin = Now();
    const absl::Status status = model_.Forward(slices, hidden_states);
    parts_.forward += absl::ToDoubleSeconds(Now() - begin);
    return status;
  }
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits) override {
    const absl::Time begin = Now();
    const absl::Status status = model_.ComputeLogits(rows, hidden_states, largest, logits);
    parts_.head += absl::ToDoubleSeconds(Now() - begin);
    return status;
  }
  absl::Status ApplyFinalNorm(MatrixView<float> rows) override {
    return model_.ApplyFinalNorm(rows);
  }
  absl::Status ApplyLabelHead(absl::Span<const float> hidden_state,
                              absl::Span<float> logits) override {
    return model_.ApplyLabelHead(hidden_state, logits);
  }
  int num_threads() const override { return model_.num_threads(); }
  void ParallelFor(int64_t num_tasks,
                   absl::FunctionRef<void(int64_t task, int worker)> function) override {
    const absl::Time begin = Now();
    model_.ParallelFor(num_tasks, function);
    parts_.sampling += absl::ToDoubleSeconds(Now() - begin);
  }

  // What was measured since the last call.
  Parts Take() { return std::exchange(parts_, Parts()); }

 private:
  LocalStepModel& model_;
  Parts parts_;
};

std::vector<int32_t> Prompt(int64_t number, int64_t vocab_size) {
  std::vector<int32_t> prompt(32);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] =
        static_cast<int32_t>((static_cast<int64_t>(i) * 7919 + number * 104729) % vocab_size);
  return prompt;
}

struct Measurement {
  std::vector<Parts> decode_steps;
  double seconds = 0.0;  // of all steps
  int64_t preemption_count = 0;
};

struct Stream {
  Engine::Submitted submitted;
  std::vector<int32_t> prompt;
  bool ended = false;
};

// Takes the news of all streams and answers their needs. False when all have ended.
absl::StatusOr<bool> ServeStreams(StepModel& model, Engine& engine, std::vector<Stream>& streams) {
  bool alive = false;
  for (Stream& stream : streams) {
    if (stream.ended) continue;
    SequenceNews news = stream.submitted.outbox->Take();
    if (news.result) PHYLLO_RETURN_IF_ERROR(news.result->status);
    stream.ended = news.result.has_value();
    alive = alive || !stream.ended;
    for (const RowRange need : news.needs) {
      std::vector<float> rows(need.count * model.sizes().hidden_size);
      PHYLLO_RETURN_IF_ERROR(
          model.Embed(absl::MakeConstSpan(stream.prompt).subspan(need.first_position, need.count),
                      need.first_position, absl::MakeSpan(rows)));
      engine.ProvideHiddenStates(stream.submitted.id, need.first_position, std::move(rows));
    }
  }
  return alive;
}

double Median(const std::vector<Parts>& steps, absl::FunctionRef<double(const Parts&)> value_of) {
  std::vector<double> values;
  for (const Parts& parts : steps) values.push_back(1e6 * value_of(parts));
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::StatusOr<Measurement> Measure(TimedModel& model, int64_t stream_count, int64_t tokens,
                                    float temperature) {
  PHYLLO_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Create(model, {.max_prefill_rows = model.sizes().max_rows, .now = Now}));
  std::vector<Stream> streams;
  for (int64_t i = 0; i < stream_count; ++i) {
    SequenceRequest request;
    request.prompt_token_ids = Prompt(i, model.sizes().vocab_size);
    request.max_new_tokens = tokens;
    request.ignore_eos = true;
    request.sampling.temperature = temperature;
    request.sampling.top_k = 50;
    request.sampling.seed = static_cast<uint64_t>(i);
    Stream stream = {.submitted = {}, .prompt = request.prompt_token_ids};
    PHYLLO_ASSIGN_OR_RETURN(stream.submitted,
                            engine->Submit(std::move(request), [](NewsUrgency) {}));
    streams.push_back(std::move(stream));
  }
  Measurement measurement;
  while (true) {
    (void)model.Take();
    const absl::Time begin = Now();
    engine->RunOneStep();
    Parts parts = model.Take();
    parts.step = absl::ToDoubleSeconds(Now() - begin);
    if (parts.forward > 0.0 && engine->stats().outstanding_prefill_tokens == 0)
      measurement.decode_steps.push_back(parts);
    measurement.seconds += parts.step;
    PHYLLO_ASSIGN_OR_RETURN(const bool alive, ServeStreams(model, *engine, streams));
    if (alive) continue;
    measurement.preemption_count = engine->stats().preemption_count;
    return measurement;
  }
}

absl::Status Run(int argc, char** argv) {
  int64_t streams = 0;
  int64_t tokens = 0;
  float temperature = 0.0f;
  int64_t kv_cache_bytes = int64_t{2} << 30;
  if (argc < 5 || !absl::SimpleAtoi(argv[3], &streams) || !absl::SimpleAtoi(argv[4], &tokens) ||
      streams < 1 || tokens < 2 || (argc > 5 && !absl::SimpleAtof(argv[5], &temperature)) ||
      (argc > 6 && !absl::SimpleAtoi(argv[6], &kv_cache_bytes)))
    return absl::InvalidArgumentError(
        "want MODEL PRECISION STREAMS TOKENS [TEMPERATURE [KV_CACHE_BYTES]]");
  PHYLLO_ASSIGN_OR_RETURN(const PrecisionChoice precision, ParsePrecisionChoice(argv[2]));
  PHYLLO_ASSIGN_OR_RETURN(
      const std::unique_ptr<LocalStepModel> loaded,
      LocalStepModel::Load({.model_folder = argv[1],
                            .precision = precision,
                            .num_threads = static_cast<int>(std::thread::hardware_concurrency()),
                            .kv_cache_bytes = kv_cache_bytes}));
  TimedModel model(*loaded);
  PHYLLO_ASSIGN_OR_RETURN(const Measurement measurement,
                          Measure(model, streams, tokens, temperature));
  const std::vector<Parts>& steps = measurement.decode_steps;
  std::printf(
      "%zu steps, medians in us: step %.0f, Forward %.0f, head %.0f, sampling %.0f, "
      "engine %.0f\n",
      steps.size(), Median(steps, [](const Parts& parts) { return parts.step; }),
      Median(steps, [](const Parts& parts) { return parts.forward; }),
      Median(steps, [](const Parts& parts) { return parts.head; }),
      Median(steps, [](const Parts& parts) { return parts.sampling; }),
      Median(steps, [](const Parts& parts) { return parts.engine(); }));
  std::printf("%.0f tokens/s, %lld preemptions\n",
              static_cast<double>(streams * tokens) / measurement.seconds,
              static_cast<long long>(measurement.preemption_count));
  return absl::OkStatus();
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  const absl::Status status = phyllo::Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
