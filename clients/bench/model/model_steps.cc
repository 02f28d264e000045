#include "clients/bench/model/model_steps.h"

#include <chrono>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/host_resources.h"
#include "model/base/status_macros.h"
#include "model/config/model_config.h"
#include "model/gguf/model_files.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/precision/model_precision.h"

namespace phyllo {
namespace {

constexpr int64_t kPageSize = 64;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelSteps>> ModelSteps::Load(const ModelStepsOptions& options) {
  auto steps = std::unique_ptr<ModelSteps>(new ModelSteps);
  PHYLLO_ASSIGN_OR_RETURN(const PrecisionChoice choice, ParsePrecisionChoice(options.precision));
  PHYLLO_ASSIGN_OR_RETURN(const std::string text, ReadModelFile(options.model, "config.json"));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(text));
  PHYLLO_ASSIGN_OR_RETURN(steps->checkpoint_, Checkpoint::Open(options.model));
  const ModelPrecision precision = choice.Resolve(AutomaticPrecision(*steps->checkpoint_));
  steps->precision_ = precision.ToString();
  const int threads = options.threads > 0 ? options.threads : DetectHostResources().ThreadCount();
  PHYLLO_ASSIGN_OR_RETURN(steps->pool_, ThreadPool::Create({.num_threads = threads}));
  const Clock::time_point begin = Clock::now();
  PHYLLO_ASSIGN_OR_RETURN(
      steps->transformer_,
      Transformer::Load(config, *steps->checkpoint_, *steps->pool_,
                        {.precision = precision,
                         .max_rows = options.max_rows,
                         .max_logits_rows = options.max_batch,
                         .page_size = kPageSize,
                         // A sequence leaves a page partly empty.
                         .kv_page_count = options.max_tokens / kPageSize + options.max_batch + 1,
                         .progress = nullptr}));
  steps->load_seconds_ = SecondsSince(begin);
  const int64_t max_positions = steps->transformer_->max_positions();
  if (options.max_positions > max_positions) {
    return absl::InvalidArgumentError(absl::StrCat("a sequence of ", options.max_positions,
                                                   " tokens is longer than the model's ",
                                                   max_positions, " positions"));
  }
  PHYLLO_ASSIGN_OR_RETURN(
      EmbeddingTable table,
      EmbeddingTable::Create(steps->transformer_->description(), *steps->checkpoint_));
  steps->embedding_table_ = std::make_unique<EmbeddingTable>(std::move(table));
  if (options.bound) PHYLLO_RETURN_IF_ERROR(steps->LoadBound(precision, options.max_rows));
  const DecoderDescription& description = steps->transformer_->description();
  steps->hidden_states_.resize(options.max_rows * description.hidden_size);
  steps->largest_.resize(options.max_batch);
  return steps;
}

absl::Status ModelSteps::LoadBound(const ModelPrecision& precision, int64_t max_rows) {
  PHYLLO_ASSIGN_OR_RETURN(bound_, MatmulBound::Create(transformer_->description(), *checkpoint_,
                                                      *pool_, precision, max_rows));
  return absl::OkStatus();
}

SequencePages ModelSteps::NewSequence() {
  return SequencePages(transformer_->kv_cache().page_groups(), kPageSize);
}

absl::StatusOr<double> ModelSteps::TimeStep(absl::Span<SequencePages> sequences, int64_t rows,
                                            int64_t first_position) {
  const int64_t d = transformer_->description().hidden_size;
  const int64_t v = transformer_->description().vocab_size;
  const int64_t batch = static_cast<int64_t>(sequences.size());
  std::mt19937 random(static_cast<uint32_t>(first_position));
  std::vector<int32_t> ids(rows);
  std::vector<StepSlice> slices;
  std::vector<int64_t> last_rows;
  const MatrixView<float> hidden_states = {
      .data = hidden_states_.data(), .rows = batch * rows, .cols = d, .stride = d};
  const Clock::time_point begin = Clock::now();
  for (int64_t i = 0; i < batch; ++i) {
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % v);
    PHYLLO_RETURN_IF_ERROR(sequences[i].Resize(first_position + rows));
    PHYLLO_RETURN_IF_ERROR(embedding_table_->Embed(
        ids, first_position, absl::MakeSpan(hidden_states_).subspan(i * rows * d, rows * d)));
    slices.push_back({.row_begin = i * rows,
                      .row_count = rows,
                      .first_position = first_position,
                      .prompt_length = first_position + rows,
                      .pages = &sequences[i]});
    last_rows.push_back((i + 1) * rows - 1);
  }
  PHYLLO_RETURN_IF_ERROR(transformer_->Forward(slices, hidden_states));
  PHYLLO_RETURN_IF_ERROR(transformer_->ComputeLogits(
      last_rows, hidden_states, absl::MakeSpan(largest_).first(batch), /*logits=*/{}));
  return SecondsSince(begin);
}

double ModelSteps::TimeBound(int64_t rows, int64_t logits_rows) {
  return bound_->TimeStep(rows, logits_rows);
}

}  // namespace phyllo
