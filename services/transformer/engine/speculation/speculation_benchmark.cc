// Speed of one sequence with and without drafts, on a text whose words are given:
//   bazel run //services/transformer/engine/speculation:speculation_benchmark -- ARGUMENTS
// with the arguments MODEL TOKENIZER PROMPT_FILE ANSWER_FILE [ROUNDS].
// The model computes every row, but its sampler draws the words of the answer file: what is
// measured is the time of a real model that writes this text. MODEL needs at least as many tokens
// as TOKENIZER has. Prints the tokens a second of off, on and auto, alternately measured.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "model/base/status_macros.h"
#include "model/sampling/logits_row.h"
#include "model/tokenizer/tokenizer.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {
namespace {

// The model, but for the largest logit at every position: that of the script's next token.
// Thread-compatible.
class ScriptedModel final : public StepModel {
 public:
  ScriptedModel(LocalStepModel& model, std::vector<int32_t> script)
      : model_(model), script_(std::move(script)), positions_(model.sizes().max_rows) {}

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
    for (const StepSlice& slice : slices) {
      for (int64_t i = 0; i < slice.row_count; ++i)
        positions_[slice.row_begin + i] = slice.first_position + i;
    }
    return model_.Forward(slices, hidden_states);
  }
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits) override {
    PHYLLO_RETURN_IF_ERROR(model_.ComputeLogits(rows, hidden_states, largest, logits));
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
    model_.ParallelFor(num_tasks, function);
  }

 private:
  LocalStepModel& model_;
  const std::vector<int32_t> script_;  // prompt, then answer
  std::vector<int64_t> positions_;     // [max_rows] of the current step
};

absl::Time Now() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

absl::StatusOr<std::vector<int32_t>> ReadTokens(const Tokenizer& tokenizer, const char* path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  PHYLLO_ASSIGN_OR_RETURN(const Encoding encoding,
                          tokenizer.Encode(text, {.add_special_tokens = false}));
  return encoding.ids;
}

// The result of one sequence.
absl::StatusOr<SequenceResult> Generate(StepModel& model, const SequenceRequest& request,
                                        SpeculationMode mode) {
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                          Engine::Create(model, {.max_prefill_rows = model.sizes().max_rows,
                                                 .now = Now,
                                                 .speculation = {.mode = mode}}));
  PHYLLO_ASSIGN_OR_RETURN(const Engine::Submitted submitted,
                          engine->Submit(request, [](NewsUrgency) {}));
  while (true) {
    engine->RunOneStep();
    SequenceNews news = submitted.outbox->Take();
    if (news.result) return *std::move(news.result);
    for (const RowRange need : news.needs) {
      std::vector<float> rows(need.count * model.sizes().hidden_size);
      PHYLLO_RETURN_IF_ERROR(model.Embed(
          absl::MakeConstSpan(request.prompt_token_ids).subspan(need.first_position, need.count),
          need.first_position, absl::MakeSpan(rows)));
      engine->ProvideHiddenStates(submitted.id, need.first_position, std::move(rows));
    }
  }
}

absl::Status Run(int argc, char** argv) {
  if (argc < 5) return absl::InvalidArgumentError("want MODEL TOKENIZER PROMPT_FILE ANSWER_FILE");
  int64_t rounds = 5;
  if (argc > 5 && !absl::SimpleAtoi(argv[5], &rounds))
    return absl::InvalidArgumentError("ROUNDS is no number");
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Load(argv[2]));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<int32_t> prompt, ReadTokens(*tokenizer, argv[3]));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<int32_t> answer, ReadTokens(*tokenizer, argv[4]));
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<LocalStepModel> model,
                          LocalStepModel::Load({.model_folder = argv[1],
                                                .num_threads = threads,
                                                .kv_cache_bytes = int64_t{1} << 30,
                                                .max_sequences = 1}));
  SequenceRequest request;
  request.prompt_token_ids = prompt;
  request.max_new_tokens = static_cast<int64_t>(answer.size());
  request.ignore_eos = true;
  request.sampling.temperature = 0.0f;
  std::vector<int32_t> script = prompt;
  script.insert(script.end(), answer.begin(), answer.end());
  ScriptedModel scripted(*model, std::move(script));
  std::printf("prompt %zu, answer %zu tokens; medians of %lld rounds\n", prompt.size(),
              answer.size(), static_cast<long long>(rounds));

  constexpr std::pair<const char*, SpeculationMode> kModes[] = {{"off", SpeculationMode::kOff},
                                                                {"on", SpeculationMode::kOn},
                                                                {"auto", SpeculationMode::kAuto}};
  std::vector<double> speeds[std::size(kModes)];
  SequenceResult last[std::size(kModes)];
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < std::size(kModes); ++i) {
      PHYLLO_ASSIGN_OR_RETURN(last[i], Generate(scripted, request, kModes[i].second));
      speeds[i].push_back(static_cast<double>(last[i].generated_token_count - 1) /
                          absl::ToDoubleSeconds(last[i].decode_time));
    }
  }
  for (size_t i = 0; i < std::size(kModes); ++i) {
    std::sort(speeds[i].begin(), speeds[i].end());
    std::printf("%-4s  %7.1f tok/s (%.1f to %.1f), drafted %lld, accepted %lld\n", kModes[i].first,
                speeds[i][rounds / 2], speeds[i].front(), speeds[i].back(),
                static_cast<long long>(last[i].drafted_token_count),
                static_cast<long long>(last[i].accepted_token_count));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  const absl::Status status = phyllo::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
