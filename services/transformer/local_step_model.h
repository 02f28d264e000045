// The model of a Hugging Face folder, ready to step.
#ifndef PHYLLO_SERVICES_TRANSFORMER_LOCAL_STEP_MODEL_H_
#define PHYLLO_SERVICES_TRANSFORMER_LOCAL_STEP_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/config/generation_config.h"
#include "model/config/model_config.h"
#include "model/embedding/embedding_table.h"
#include "model/heads/label_head.h"
#include "model/parallel/thread_pool.h"
#include "model/sampling/logits_row.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/transformer.h"
#include "services/transformer/engine/step_model.h"
#include "services/transformer/weights/model_cache.h"

namespace phyllo {

struct LocalStepModelOptions {
  // config.json, *.safetensors; generation_config.json and 1_Pooling/config.json if they are there
  std::string model_folder;
  PrecisionChoice precision = {};
  int num_threads = 1;
  bool pin_threads = false;
  // Borrowed; computes in place of threads of its own. For models whose steps alternate.
  ThreadPool* thread_pool = nullptr;
  int64_t max_rows = 256;
  int64_t max_logits_rows = 64;
  int64_t page_size = 64;  // tokens
  // Upper bound of the KV cache, at least one page. Absent: half of what memory_bytes leaves beside
  // the weights.
  std::optional<int64_t> kv_cache_bytes = std::nullopt;
  int64_t memory_bytes =
      0;  // that weights and KV cache may take together; read where kv_cache_bytes is absent
  // The cache has no more pages than max_sequences sequences of max_sequence_length (absent:
  // max_position_embeddings) tokens need; page_split.h says how groups of layers share it.
  int64_t max_sequences = 64;
  std::optional<int64_t> max_sequence_length = std::nullopt;
  ModelCacheOptions cache = {};
  // Hears how far an activity ("digesting", "reading", "packing") has come.
  std::function<void(absl::string_view activity, int64_t done_bytes, int64_t total_bytes)>
      progress = nullptr;
};

// Owns the memory map, the packed weights, the KV cache and the threads. Thread-compatible: one
// thread steps; config(), checkpoint() and the other descriptions are immutable.
class LocalStepModel final : public StepModel {
 public:
  // Errors of Checkpoint::Open, ParseModelConfig, ParseGenerationConfig, ReadFolderPooling,
  // Transformer::Load;
  // RESOURCE_EXHAUSTED if there is no room for one page.
  static absl::StatusOr<std::unique_ptr<LocalStepModel>> Load(const LocalStepModelOptions& options);

  const StepModelSizes& sizes() const override { return sizes_; }
  absl::Span<const KvPageGroup> page_groups() const override {
    return transformer_->kv_cache().page_groups();
  }
  void CopyPage(int64_t group, int32_t source, int32_t target) override {
    transformer_->kv_cache().CopyPage(group, source, target);
  }
  int64_t ReusablePositions(int64_t prompt_length) const override {
    return transformer_->ReusablePositions(prompt_length);
  }
  absl::Status Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                     absl::Span<float> out) override;
  absl::Status Forward(absl::Span<const StepSlice> slices,
                       MatrixView<float> hidden_states) override;
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits) override;
  absl::Status ApplyFinalNorm(MatrixView<float> rows) override;
  absl::Status ApplyLabelHead(absl::Span<const float> hidden_state,
                              absl::Span<float> logits) override;
  int num_threads() const override { return thread_pool_->num_threads(); }
  void ParallelFor(int64_t num_tasks,
                   absl::FunctionRef<void(int64_t task, int worker)> function) override;

  const ModelConfig& config() const { return config_; }
  const GenerationConfig& generation_config() const { return generation_config_; }
  const DecoderDescription& description() const { return description_; }
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  const ModelCache& cache() const { return cache_; }
  const DecoderWeights& weights() const { return transformer_->weights(); }
  const ModelPrecision& precision() const { return precision_; }
  ThreadPool& thread_pool() { return *thread_pool_; }
  int64_t kv_bytes_per_token() const { return transformer_->kv_cache().bytes_per_token(); }

 private:
  LocalStepModel() = default;

  // Finds the digest of the weights, and the file of their packed form.
  absl::Status OpenCache(const LocalStepModelOptions& options, const std::string& config_json);

  ModelConfig config_;
  GenerationConfig generation_config_;
  DecoderDescription description_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<EmbeddingTable> embedding_table_;
  std::unique_ptr<ThreadPool> own_thread_pool_;  // null if the pool is borrowed
  ThreadPool* thread_pool_ = nullptr;
  ModelCache cache_;
  std::unique_ptr<Transformer> transformer_;
  std::optional<LabelHead> label_head_;  // set if the model has one
  ModelPrecision precision_;
  StepModelSizes sizes_;
  std::vector<int64_t> row_numbers_;  // 0, 1, ... [max_rows]
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_LOCAL_STEP_MODEL_H_
