// What the engine needs of a model: a few operations on the rows of a step.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_STEP_MODEL_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_STEP_MODEL_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/config/decoder_description.h"
#include "model/heads/pooling.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/sampling/logits_row.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/step_slice.h"

namespace phyllo {

// The sizes of a model and of its cache.
struct StepModelSizes {
  int64_t hidden_size = 0;                   // d
  int64_t vocab_size = 0;                    // v
  int64_t max_rows = 0;                      // most rows of one Forward
  int64_t max_logits_rows = 0;               // most rows of one ComputeLogits
  int64_t max_positions = 0;                 // positions of one sequence: what the model admits
  int64_t page_size = 0;                     // tokens of a KV page
  HeadKind head = HeadKind::kLmHead;         // what stands behind the final norm
  int64_t num_labels = 0;                    // outputs of the head if it is kLabels
  Pooling default_pooling = Pooling::kLast;  // how the model's makers pool its hidden states
  // Tokens at which a sequence is computed anew (model/config/recompute_length.h); absent: never.
  std::optional<int64_t> recompute_length = std::nullopt;
};

// Implemented by LocalStepModel over a checkpoint and by FakeStepModel in tests. Thread-compatible:
// one thread runs the steps.
class StepModel {
 public:
  virtual ~StepModel() = default;

  virtual const StepModelSizes& sizes() const = 0;
  // The pools of the groups of layers, [groups] with at least one.
  virtual absl::Span<const KvPageGroup> page_groups() const = 0;
  // As KvCache::CopyPage.
  virtual void CopyPage(int64_t group, int32_t source, int32_t target) = 0;
  // As Transformer::ReusablePositions.
  virtual int64_t ReusablePositions(int64_t prompt_length) const = 0;

  // Writes the embeddings of token_ids [n] at positions first_position ... to out [n, d].
  // INVALID_ARGUMENT for ids or positions out of range.
  virtual absl::Status Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                             absl::Span<float> out) = 0;
  // As Transformer::Forward: hidden_states [m, d] in and out.
  virtual absl::Status Forward(absl::Span<const StepSlice> slices,
                               MatrixView<float> hidden_states) = 0;
  // As Transformer::ComputeLogits: of rows [b] the largest logits [l] of the first l, and the
  // logits [b - l, v] of the others. Only if the head is kLmHead.
  virtual absl::Status ComputeLogits(absl::Span<const int64_t> rows,
                                     MatrixView<const float> hidden_states,
                                     absl::Span<LargestLogit> largest,
                                     MatrixView<float> logits) = 0;

  // As Transformer::ApplyFinalNorm, in place: rows [m, d] of what Forward left.
  virtual absl::Status ApplyFinalNorm(MatrixView<float> rows) = 0;
  // As LabelHead::Apply: logits [num_labels] of a final hidden state [d]. Only if the head is
  // kLabels.
  virtual absl::Status ApplyLabelHead(absl::Span<const float> hidden_state,
                                      absl::Span<float> logits) = 0;

  // Threads of ParallelFor, the caller included.
  virtual int num_threads() const = 0;
  // Calls function(task, worker) once for each task in [0, num_tasks), worker in [0,
  // num_threads()), and waits for all.
  virtual void ParallelFor(int64_t num_tasks,
                           absl::FunctionRef<void(int64_t task, int worker)> function) = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_STEP_MODEL_H_
