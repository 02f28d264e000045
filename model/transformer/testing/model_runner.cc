#include "model/transformer/testing/model_runner.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/gguf/model_files.h"

namespace phyllo {
namespace {

constexpr int64_t kMaxLogitsRows = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<ModelRunner>> ModelRunner::Load(const std::string& directory,
                                                               const ModelRunnerOptions& options) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string config_text,
                          ReadModelFile(directory, options.config_file));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(config_text));
  return Load(config, directory, options);
}

absl::StatusOr<std::unique_ptr<ModelRunner>> ModelRunner::Load(const ModelConfig& config,
                                                               const std::string& directory,
                                                               const ModelRunnerOptions& options) {
  auto runner = std::unique_ptr<ModelRunner>(new ModelRunner());
  runner->options_ = options;
  PHYLLO_ASSIGN_OR_RETURN(runner->checkpoint_, Checkpoint::Open(directory));
  PHYLLO_ASSIGN_OR_RETURN(runner->pool_, ThreadPool::Create({.num_threads = options.num_threads}));
  PHYLLO_ASSIGN_OR_RETURN(runner->transformer_,
                          Transformer::Load(config, *runner->checkpoint_, *runner->pool_,
                                            {.precision = options.precision,
                                             .max_rows = options.max_rows,
                                             .max_logits_rows = kMaxLogitsRows,
                                             .page_size = options.page_size,
                                             .kv_page_count = options.kv_page_count,
                                             .progress = nullptr}));
  PHYLLO_ASSIGN_OR_RETURN(
      EmbeddingTable embedding_table,
      EmbeddingTable::Create(runner->transformer_->description(), *runner->checkpoint_));
  runner->embedding_table_ = std::make_unique<EmbeddingTable>(std::move(embedding_table));
  return runner;
}

SequencePages ModelRunner::NewSequence() {
  return SequencePages(transformer_->kv_cache().page_groups(), options_.page_size);
}

absl::StatusOr<std::vector<float>> ModelRunner::Step(absl::Span<const SequenceChunk> chunks,
                                                     const LayerObserver* observer) {
  const int64_t d = transformer_->description().hidden_size;
  std::vector<StepSlice> slices;
  int64_t rows = 0;
  embeddings_.clear();
  for (const SequenceChunk& chunk : chunks) {
    const int64_t count = static_cast<int64_t>(chunk.token_ids.size());
    chunk.pages->ReleaseBefore(chunk.first_position);
    PHYLLO_RETURN_IF_ERROR(chunk.pages->Resize(chunk.first_position + count));
    embeddings_.resize((rows + count) * d);
    PHYLLO_RETURN_IF_ERROR(
        embedding_table_->Embed(chunk.token_ids, chunk.first_position,
                                absl::MakeSpan(embeddings_).subspan(rows * d, count * d)));
    slices.push_back({.row_begin = rows,
                      .row_count = count,
                      .first_position = chunk.first_position,
                      .prompt_length = chunk.prompt_length,
                      .pages = chunk.pages});
    rows += count;
  }
  hidden_states_ = embeddings_;
  const MatrixView<float> hidden = {
      .data = hidden_states_.data(), .rows = rows, .cols = d, .stride = d};
  PHYLLO_RETURN_IF_ERROR(transformer_->Forward(slices, hidden, observer));

  if (transformer_->description().head != HeadKind::kLmHead) return std::vector<float>();
  std::vector<float> logits(rows * vocab_size());
  for (int64_t begin = 0; begin < rows; begin += kMaxLogitsRows) {
    std::vector<int64_t> wanted;
    for (int64_t row = begin; row < std::min(rows, begin + kMaxLogitsRows); ++row)
      wanted.push_back(row);
    const MatrixView<float> out = {.data = logits.data() + begin * vocab_size(),
                                   .rows = static_cast<int64_t>(wanted.size()),
                                   .cols = vocab_size(),
                                   .stride = vocab_size()};
    PHYLLO_RETURN_IF_ERROR(transformer_->ComputeLogits(wanted, hidden, out));
  }
  return logits;
}

absl::StatusOr<std::vector<float>> ModelRunner::Prefill(SequencePages& pages,
                                                        absl::Span<const int32_t> token_ids,
                                                        int64_t chunk,
                                                        const LayerObserver* observer) {
  const int64_t prompt_length = static_cast<int64_t>(token_ids.size());
  std::vector<float> logits;
  for (int64_t begin = 0; begin < prompt_length; begin += chunk) {
    const SequenceChunk part = {.pages = &pages,
                                .first_position = begin,
                                .prompt_length = prompt_length,
                                .token_ids = token_ids.subspan(begin, chunk)};
    PHYLLO_ASSIGN_OR_RETURN(const std::vector<float> part_logits, Step({part}, observer));
    logits.insert(logits.end(), part_logits.begin(), part_logits.end());
  }
  return logits;
}

MatrixView<const float> ModelRunner::embeddings() const {
  const int64_t d = embedding_table_->hidden_size();
  return {.data = embeddings_.data(),
          .rows = static_cast<int64_t>(embeddings_.size()) / d,
          .cols = d,
          .stride = d};
}

MatrixView<const float> ModelRunner::hidden_states() const {
  const int64_t d = embedding_table_->hidden_size();
  return {.data = hidden_states_.data(),
          .rows = static_cast<int64_t>(hidden_states_.size()) / d,
          .cols = d,
          .stride = d};
}

int64_t ArgmaxOf(absl::Span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

}  // namespace phyllo
