// The forward pass of a decoder-only model, or of a range of its layers.
//   PHYLLO_ASSIGN_OR_RETURN(const auto transformer, Transformer::Load(config, checkpoint,
//   thread_pool, options)); SequencePages pages(transformer->kv_cache().page_groups(),
//   options.page_size); PHYLLO_RETURN_IF_ERROR(pages.Resize(n)); const StepSlice slice =
//   {.row_begin = 0, .row_count = n, .first_position = 0, .prompt_length = n, .pages = &pages};
//   PHYLLO_RETURN_IF_ERROR(transformer->Forward({slice}, hidden_states));  // embeddings in, hidden
//   states out PHYLLO_RETURN_IF_ERROR(transformer->ComputeLogits({n - 1}, hidden_states, logits));
#ifndef PHYLLO_MODEL_TRANSFORMER_TRANSFORMER_H_
#define PHYLLO_MODEL_TRANSFORMER_TRANSFORMER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/kv_cache/kv_cache.h"
#include "model/packed_cache/packed_image.h"
#include "model/parallel/thread_pool.h"
#include "model/sampling/logits_row.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/step_slice.h"

namespace phyllo {

struct TransformerOptions {
  // Of the matrices of each module and of the KV cache.
  ModelPrecision precision = {};

  // The layers [first_layer, last_layer) of the model; last_layer -1 means num_hidden_layers. The
  // final norm and the LM head are loaded if the last layer of the model is among them.
  int64_t first_layer = 0;
  int64_t last_layer = -1;

  int64_t max_rows = 512;        // most rows of one Forward, >= 1; activations are sized by it
  int64_t max_logits_rows = 64;  // most rows of one ComputeLogits, >= 1

  int64_t page_size = 64;      // tokens a KV page
  int64_t kv_page_count = 64;  // pages of each group of layers; memory is committed when first used
  // If not empty, the pages of each group instead, in the order of LayerGroupsOf
  // (layer_groups_of.h).
  std::vector<int64_t> kv_page_counts = {};

  // If set, called on the loading thread after each tensor with the bytes of the checkpoint done
  // and to do.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;

  // Packed weights to take instead, and what hears of their reading: see DecoderWeightsOptions.
  const PackedImage* image = nullptr;
  std::function<void(int64_t done_bytes, int64_t total_bytes)> image_progress = nullptr;
};

// Called after each layer with its output, the residual stream [m, d]. For tests and tools.
using LayerObserver = std::function<void(int64_t layer, MatrixView<const float> hidden_states)>;

// Owns the packed weights, the KV cache and every buffer of the step, all made by Load. A row's
// result depends on the tokens of its sequence only: not on the other rows of the step, on how the
// prompt was cut into steps, on the pages it lies in, or on the number of threads.
// Thread-compatible: one step at a time; the thread pool is used by it alone.
class Transformer {
 public:
  // Reads and packs the weights; the checkpoint is not needed afterwards, the thread pool must
  // outlive the transformer. INVALID_ARGUMENT names the option that is out of range, or the tensor
  // that is missing or has a wrong shape; UNIMPLEMENTED names what the library does not compute;
  // RESOURCE_EXHAUSTED when there is not enough memory.
  static absl::StatusOr<std::unique_ptr<Transformer>> Load(const ModelConfig& config,
                                                           const Checkpoint& checkpoint,
                                                           ThreadPool& thread_pool,
                                                           const TransformerOptions& options);
  ~Transformer();
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  // One step. hidden_states [m, d], 1 <= m <= max_rows: on entry the embeddings of the tokens, or
  // the output of layer first_layer - 1; on return the output of layer last_layer - 1, before the
  // final norm. Keys and values of every row are written to the pages. Requires that the slices lie
  // behind each other and cover all rows, one slice a sequence, and that earlier steps have
  // computed the positions before first_position. Does not allocate. INVALID_ARGUMENT, before
  // anything is written, names what is wrong: rows, positions beyond max_positions(), or a page
  // table without room.
  absl::Status Forward(absl::Span<const StepSlice> slices, MatrixView<float> hidden_states,
                       const LayerObserver* observer = nullptr);

  // Final norm and LM head of the chosen rows of what Forward left: logits [b, v] of rows [b], 1 <=
  // b <= max_logits_rows, in any order, repeated or not. Does not allocate. INVALID_ARGUMENT names
  // the row or size that is wrong; FAILED_PRECONDITION when the last layer is not loaded or the
  // model has no LM head.
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             MatrixView<float> logits) {
    return ComputeLogits(rows, hidden_states, {}, logits);
  }
  // The same, but of the first largest.size() rows only the largest logit, found while the product
  // runs: logits [b - largest.size(), v] has those of the others.
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits);

  // The final hidden states, what every head reads: the final norm of the chosen rows of what
  // Forward left. out [b, d] of rows [b], in any order, repeated or not; out may be hidden_states
  // itself if rows are 0, 1, ... Does not allocate. Errors as above; FAILED_PRECONDITION only when
  // the last layer is not loaded.
  absl::Status ApplyFinalNorm(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                              MatrixView<float> out);

  // Number of positions a sequence may have: the model's limit, or 2^31 - 1 where the model has
  // none (RoPE type dynamic).
  int64_t max_positions() const;
  // The keys of positions [0, result) of a sequence with such a prompt depend on the tokens up to
  // them only, so that their pages may serve every sequence that begins with these tokens and is
  // allowed to reuse as many. max_positions() unless a RoPE type rotates by the length of the
  // sequence (dynamic); then the length it does so from, if the prompt fits into that, else 0.
  int64_t ReusablePositions(int64_t prompt_length) const;

  // Bytes of the packed weights.
  int64_t weight_bytes() const;
  // The packed weights: where they lie, and whether they were taken from options.image.
  const DecoderWeights& weights() const;
  const DecoderDescription& description() const;
  KvCache& kv_cache();

 private:
  struct Impl;
  explicit Transformer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_TRANSFORMER_H_
