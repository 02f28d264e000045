#include "services/transformer/local_step_model.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/config/recompute_length.h"
#include "model/gguf/model_files.h"
#include "model/heads/pooling_config.h"
#include "model/kv_cache/layer_groups.h"
#include "model/kv_cache/page_split.h"
#include "model/tensor/linear_input.h"
#include "model/transformer/layer_groups_of.h"
#include "model/transformer/precision/packed_bytes.h"

namespace phyllo {
namespace {

// Pages of each group of layers.
absl::StatusOr<std::vector<int64_t>> PageCounts(const LocalStepModelOptions& options,
                                                const DecoderDescription& description,
                                                int64_t weight_bytes, Precision kv_precision) {
  const AttentionDescription& attention = description.layers[0].attention;
  const int64_t layer_page_bytes =
      KvCache::PageStride({.num_key_value_heads = attention.num_key_value_heads,
                           .head_dim = attention.head_dim,
                           .page_size = options.page_size,
                           .precision = kv_precision});
  const int64_t page_bytes = description.num_hidden_layers() * layer_page_bytes;
  const int64_t cache_bytes =
      options.kv_cache_bytes.value_or((options.memory_bytes - weight_bytes) / 2);
  if (cache_bytes < page_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the KV cache may take ", std::max<int64_t>(cache_bytes, 0), " bytes beside ", weight_bytes,
        " bytes of weights; one page of ", options.page_size, " tokens takes ", page_bytes));
  }
  PHYLLO_ASSIGN_OR_RETURN(const KvLayerGroups groups,
                          LayerGroupsOf(description, 0, description.num_hidden_layers()));
  return SplitKvPages(groups, {.layer_page_count = cache_bytes / layer_page_bytes,
                               .page_size = options.page_size,
                               .max_sequence_length = options.max_sequence_length.value_or(
                                   description.max_position_embeddings),
                               .max_sequences = options.max_sequences,
                               .max_rows = options.max_rows});
}

// The same text for precisions that differ in the KV cache only.
std::string PrecisionOfWeights(ModelPrecision precision) {
  precision.kv_cache = ModelPrecision::Of(precision.feed_forward).kv_cache;
  return precision.ToString();
}

// What those functions call that tell of one activity.
std::function<void(int64_t done_bytes, int64_t total_bytes)> ProgressOf(
    absl::string_view activity, const LocalStepModelOptions& options) {
  if (!options.progress) return nullptr;
  return [&options, activity](int64_t done_bytes, int64_t total_bytes) {
    options.progress(activity, done_bytes, total_bytes);
  };
}

// That of the folder; without one, nothing is set.
absl::StatusOr<GenerationConfig> ReadGenerationConfig(const std::string& folder) {
  const absl::StatusOr<std::string> text = ReadModelFile(folder, "generation_config.json");
  if (absl::IsNotFound(text.status())) return GenerationConfig();
  PHYLLO_RETURN_IF_ERROR(text.status());
  return ParseGenerationConfig(*text);
}

}  // namespace

absl::Status LocalStepModel::OpenCache(const LocalStepModelOptions& options,
                                       const std::string& config_json) {
  PHYLLO_ASSIGN_OR_RETURN(cache_, OpenModelCache(options.cache, options.model_folder, *checkpoint_,
                                                 {.weights_sha256 = "",
                                                  .config_json = config_json,
                                                  .precision = PrecisionOfWeights(precision_),
                                                  .first_layer = 0,
                                                  .last_layer = description_.num_hidden_layers()},
                                                 ProgressOf("digesting", options)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LocalStepModel>> LocalStepModel::Load(
    const LocalStepModelOptions& options) {
  auto model = std::unique_ptr<LocalStepModel>(new LocalStepModel());
  PHYLLO_ASSIGN_OR_RETURN(const std::string config,
                          ReadModelFile(options.model_folder, "config.json"));
  PHYLLO_ASSIGN_OR_RETURN(model->config_, ParseModelConfig(config));
  PHYLLO_ASSIGN_OR_RETURN(model->generation_config_, ReadGenerationConfig(options.model_folder));
  PHYLLO_ASSIGN_OR_RETURN(model->description_, DescribeDecoder(model->config_));
  PHYLLO_ASSIGN_OR_RETURN(model->checkpoint_, Checkpoint::Open(options.model_folder));
  PHYLLO_ASSIGN_OR_RETURN(EmbeddingTable table,
                          EmbeddingTable::Create(model->description_, *model->checkpoint_));
  model->embedding_table_ = std::make_unique<EmbeddingTable>(std::move(table));
  model->thread_pool_ = options.thread_pool;
  if (model->thread_pool_ == nullptr) {
    PHYLLO_ASSIGN_OR_RETURN(
        model->own_thread_pool_,
        ThreadPool::Create({.num_threads = options.num_threads, .pin = options.pin_threads}));
    model->thread_pool_ = model->own_thread_pool_.get();
  }
  model->precision_ = options.precision.Resolve(AutomaticPrecision(*model->checkpoint_));
  PHYLLO_RETURN_IF_ERROR(model->OpenCache(options, config));
  PHYLLO_ASSIGN_OR_RETURN(std::vector<int64_t> page_counts,
                          PageCounts(options, model->description_,
                                     PackedWeightBytes(model->description_, model->precision_),
                                     model->precision_.kv_cache));
  PHYLLO_ASSIGN_OR_RETURN(
      model->transformer_,
      Transformer::Load(model->config_, *model->checkpoint_, *model->thread_pool_,
                        {.precision = model->precision_,
                         .max_rows = options.max_rows,
                         .max_logits_rows = options.max_logits_rows,
                         .page_size = options.page_size,
                         .kv_page_counts = std::move(page_counts),
                         .progress = ProgressOf("packing", options),
                         .image = model->cache_.image.get(),
                         .image_progress = ProgressOf("reading", options)}));
  // From now on only rows of embeddings are read.
  model->checkpoint_->DropPages();
  model->sizes_ = {.hidden_size = model->description_.hidden_size,
                   .vocab_size = model->description_.vocab_size,
                   .max_rows = options.max_rows,
                   .max_logits_rows = options.max_logits_rows,
                   .max_positions = model->transformer_->max_positions(),
                   .page_size = options.page_size,
                   .head = model->description_.head,
                   .num_labels = model->description_.num_labels,
                   .recompute_length = RecomputeLength(model->config_)};
  model->row_numbers_.resize(options.max_rows);
  std::iota(model->row_numbers_.begin(), model->row_numbers_.end(), 0);
  PHYLLO_ASSIGN_OR_RETURN(model->sizes_.default_pooling, ReadFolderPooling(options.model_folder));
  if (model->description_.head == HeadKind::kLabels) {
    PHYLLO_ASSIGN_OR_RETURN(model->label_head_,
                            LabelHead::Load(model->description_, *model->checkpoint_));
  }
  return model;
}

absl::Status LocalStepModel::Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                                   absl::Span<float> out) {
  return embedding_table_->Embed(token_ids, first_position, out);
}

absl::Status LocalStepModel::Forward(absl::Span<const StepSlice> slices,
                                     MatrixView<float> hidden_states) {
  return transformer_->Forward(slices, hidden_states);
}

absl::Status LocalStepModel::ComputeLogits(absl::Span<const int64_t> rows,
                                           MatrixView<const float> hidden_states,
                                           absl::Span<LargestLogit> largest,
                                           MatrixView<float> logits) {
  return transformer_->ComputeLogits(rows, hidden_states, largest, logits);
}

absl::Status LocalStepModel::ApplyFinalNorm(MatrixView<float> rows) {
  return transformer_->ApplyFinalNorm(absl::MakeConstSpan(row_numbers_).first(rows.rows), rows,
                                      rows);
}

absl::Status LocalStepModel::ApplyLabelHead(absl::Span<const float> hidden_state,
                                            absl::Span<float> logits) {
  if (!label_head_) return absl::FailedPreconditionError("the model has no label head");
  label_head_->Apply(hidden_state, logits);
  return absl::OkStatus();
}

void LocalStepModel::ParallelFor(int64_t num_tasks,
                                 absl::FunctionRef<void(int64_t task, int worker)> function) {
  thread_pool_->ParallelFor(num_tasks, function);
}

}  // namespace phyllo
