// Speed of one sequence with and without drafts, on a text whose words are given. kUsage says more.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/base/status_macros.h"
#include "model/sampling/logits_row.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/precision/model_precision.h"
#include "services/transformer/draft_model/draft_model.h"
#include "services/transformer/engine/benchmark/benchmark_streams.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/scheduling/measure_step_cost.h"
#include "services/transformer/engine/testing/forwarding_step_model.h"
#include "services/transformer/local_step_model.h"

ABSL_FLAG(std::string, model, "", "Model folder or GGUF file. Required");
ABSL_FLAG(std::string, precision, "auto", "As --precision of the transformer service");
ABSL_FLAG(int, threads, 0, "Threads that compute. 0: all CPUs");
ABSL_FLAG(std::string, draft_model, "",
          "Folder of a model that drafts, too, in two further modes. Empty: none");
ABSL_FLAG(std::string, tokenizer, "",
          "Folder of the tokenizer, which has at most as many tokens as the model. Empty: the "
          "draft model's, or else the model's");
ABSL_FLAG(std::string, prompt_file, "", "Text that the sequence begins with. Required");
ABSL_FLAG(std::string, answer_file, "", "Text that is generated. Required");
ABSL_FLAG(int64_t, max_draft_tokens, 8, "As --max_draft_tokens of the transformer service");
ABSL_FLAG(int, rounds, 5, "How often each mode is measured");

namespace phyllo {
namespace {

constexpr char kUsage[] =
    R"(Measures speculative decoding of one sequence:
  bazel run //services/transformer/engine/benchmark:speculation_benchmark -- --model=DIR --prompt_file=A --answer_file=B

The model computes every row, but its sampler draws the words of the answer file: what is measured is the time of a real model that
writes this text. Prints the tokens a second of each mode, measured in turns, and how much longer it took than without drafts, round by round.)";

// The model, but for the largest logit at every position: that of the script's next token.
// Thread-compatible.
class ScriptedModel final : public ForwardingStepModel {
 public:
  ScriptedModel(StepModel& model, std::vector<int32_t> script)
      : ForwardingStepModel(model),
        script_(std::move(script)),
        positions_(model.sizes().max_rows) {}

  absl::Status Forward(absl::Span<const StepSlice> slices,
                       MatrixView<float> hidden_states) override {
    for (const StepSlice& slice : slices) {
      for (int64_t i = 0; i < slice.row_count; ++i)
        positions_[slice.row_begin + i] = slice.first_position + i;
    }
    return ForwardingStepModel::Forward(slices, hidden_states);
  }
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits) override {
    PHYLLO_RETURN_IF_ERROR(
        ForwardingStepModel::ComputeLogits(rows, hidden_states, largest, logits));
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto next = static_cast<size_t>(positions_[rows[i]] + 1);
      const int32_t token_id = script_[std::min(next, script_.size() - 1)];
      if (i < largest.size()) {
        largest[i].token_id = token_id;
      } else {
        logits.Row(i - largest.size())[token_id] = 1e4f;
      }
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<int32_t> script_;  // prompt, then answer
  std::vector<int64_t> positions_;     // [max_rows] of the current step
};

absl::StatusOr<std::vector<int32_t>> ReadTokens(const Tokenizer& tokenizer,
                                                const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError("cannot read " + path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  PHYLLO_ASSIGN_OR_RETURN(const Encoding encoding,
                          tokenizer.Encode(text, {.add_special_tokens = false}));
  return encoding.ids;
}

// A way to speculate, and what came of it.
struct Mode {
  std::string name;
  SpeculationOptions options;
  std::vector<double> seconds = {};  // [rounds] of decoding
  SequenceResult last = {};
};

absl::Status Generate(StepModel& model, const SequenceRequest& request, const StepCostTable& cost,
                      Mode& mode) {
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                          Engine::Create(model, {.max_prefill_rows = model.sizes().max_rows,
                                                 .step_cost = cost,
                                                 .now = BenchmarkNow,
                                                 .speculation = mode.options}));
  BenchmarkStreams streams(model, *engine);
  PHYLLO_RETURN_IF_ERROR(streams.Add(request));
  while (streams.alive_count() > 0) {
    engine->RunOneStep();
    PHYLLO_RETURN_IF_ERROR(streams.Serve());
  }
  mode.last = streams.results().front();
  mode.seconds.push_back(absl::ToDoubleSeconds(mode.last.decode_time));
  return absl::OkStatus();
}

std::vector<Mode> ModesWith(Drafter* drafter) {
  const int64_t count = absl::GetFlag(FLAGS_max_draft_tokens);
  std::vector<Mode> modes = {
      {"off", {.mode = SpeculationMode::kOff, .max_draft_tokens = count}},
      {"on", {.mode = SpeculationMode::kOn, .max_draft_tokens = count}},
      {"auto", {.mode = SpeculationMode::kAuto, .max_draft_tokens = count}},
  };
  if (drafter == nullptr) return modes;
  modes.push_back({"on, draft model",
                   {.mode = SpeculationMode::kOn, .max_draft_tokens = count, .drafter = drafter}});
  modes.push_back(
      {"auto, draft model",
       {.mode = SpeculationMode::kAuto, .max_draft_tokens = count, .drafter = drafter}});
  return modes;
}

void Print(const Mode& mode, const Mode& off) {
  std::vector<double> ratios;
  for (size_t i = 0; i < mode.seconds.size(); ++i)
    ratios.push_back(mode.seconds[i] / off.seconds[i]);
  const auto drafted = static_cast<long long>(mode.last.drafted_token_count);
  const auto accepted = static_cast<long long>(mode.last.accepted_token_count);
  std::printf(
      "%-17s  %8.1f tok/s, time %.3f (%.3f to %.3f) of off; accepted %lld of %lld\n",
      mode.name.c_str(),
      static_cast<double>(mode.last.generated_token_count - 1) / Quantile(mode.seconds, 0.5),
      Quantile(ratios, 0.5), Quantile(ratios, 0.0), Quantile(ratios, 1.0), accepted, drafted);
}

// The request whose answer is that of the file, and its script.
absl::StatusOr<SequenceRequest> ReadRequest(std::vector<int32_t>& script) {
  std::string folder = absl::GetFlag(FLAGS_tokenizer);
  if (folder.empty()) folder = absl::GetFlag(FLAGS_draft_model);
  if (folder.empty()) folder = absl::GetFlag(FLAGS_model);
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Load(folder));
  SequenceRequest request;
  PHYLLO_ASSIGN_OR_RETURN(request.prompt_token_ids,
                          ReadTokens(*tokenizer, absl::GetFlag(FLAGS_prompt_file)));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<int32_t> answer,
                          ReadTokens(*tokenizer, absl::GetFlag(FLAGS_answer_file)));
  request.max_new_tokens = static_cast<int64_t>(answer.size());
  request.ignore_eos = true;
  request.sampling.temperature = 0.0f;
  script = request.prompt_token_ids;
  script.insert(script.end(), answer.begin(), answer.end());
  return request;
}

absl::Status Run() {
  const int rounds = absl::GetFlag(FLAGS_rounds);
  if (absl::GetFlag(FLAGS_model).empty() || rounds < 1)
    return absl::InvalidArgumentError("wants --model and --rounds >= 1; try --help");
  std::vector<int32_t> script;
  PHYLLO_ASSIGN_OR_RETURN(const SequenceRequest request, ReadRequest(script));
  LocalStepModelOptions options = {.model_folder = absl::GetFlag(FLAGS_model),
                                   .num_threads = absl::GetFlag(FLAGS_threads),
                                   .kv_cache_bytes = int64_t{1} << 30,
                                   .max_sequences = 1};
  if (options.num_threads <= 0)
    options.num_threads = static_cast<int>(std::thread::hardware_concurrency());
  PHYLLO_ASSIGN_OR_RETURN(options.precision, ParsePrecisionChoice(absl::GetFlag(FLAGS_precision)));
  const std::string draft_folder = absl::GetFlag(FLAGS_draft_model);
  if (!draft_folder.empty())
    PHYLLO_RETURN_IF_ERROR(CheckSameTokens(options.model_folder, draft_folder));
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<LocalStepModel> model,
                          LocalStepModel::Load(options));
  DraftModel draft;
  if (!draft_folder.empty()) {
    LocalStepModelOptions draft_options = options;
    draft_options.model_folder = draft_folder;
    draft_options.precision = {};
    PHYLLO_ASSIGN_OR_RETURN(draft, LoadDraftModel(draft_options, *model));
  }
  PHYLLO_ASSIGN_OR_RETURN(const StepCostTable cost, MeasureStepCost(*model, {.now = BenchmarkNow}));
  ScriptedModel scripted(*model, std::move(script));
  std::printf("prompt %zu, answer %lld tokens; medians of %d rounds\n",
              request.prompt_token_ids.size(), static_cast<long long>(request.max_new_tokens),
              rounds);
  std::vector<Mode> modes = ModesWith(draft.drafter.get());
  for (int round = 0; round < rounds; ++round) {
    for (Mode& mode : modes) PHYLLO_RETURN_IF_ERROR(Generate(scripted, request, cost, mode));
  }
  for (const Mode& mode : modes) Print(mode, modes.front());
  return absl::OkStatus();
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  return phyllo::RunBenchmark(argc, argv, phyllo::kUsage, phyllo::Run);
}
