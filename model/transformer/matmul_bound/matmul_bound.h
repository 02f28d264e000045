// The matrix products of a step and nothing else: an upper bound of the speed with the same
// kernels. What a step takes from a product tile by tile (act(gate) * up, largest logits) is
// written nowhere.
#ifndef PHYLLO_MODEL_TRANSFORMER_MATMUL_BOUND_MATMUL_BOUND_H_
#define PHYLLO_MODEL_TRANSFORMER_MATMUL_BOUND_MATMUL_BOUND_H_

#include <cstdint>
#include <memory>
#include <random>

#include "absl/status/statusor.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/onednn/linear_kernels.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/activations.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/precision/model_precision.h"

namespace phyllo {

// Owns packed weights of its own, so that a step finds them as cold as the real one does.
// Thread-compatible.
class MatmulBound {
 public:
  // Errors: those of DecoderWeights::Load and of the arena. The pool must outlive it.
  static absl::StatusOr<std::unique_ptr<MatmulBound>> Create(const DecoderDescription& description,
                                                             const Checkpoint& checkpoint,
                                                             ThreadPool& pool,
                                                             const ModelPrecision& precision,
                                                             int64_t max_rows);

  // Seconds of the products of one step of `rows` rows with `logits_rows` rows of logits. Requires
  // both in [1, max_rows].
  double TimeStep(int64_t rows, int64_t logits_rows);

 private:
  explicit MatmulBound(ThreadPool& pool) : pool_(pool) {}

  void MultiplyByGateAndUp(const LayerWeights& layer, const Activations& a);
  void MultiplyByExperts(const ExpertsWeights& weights, const ExpertActivations& a);

  ThreadPool& pool_;
  std::mt19937 random_;
  DecoderWeights weights_;
  HugePageArena arena_;  // of what follows
  Activations activations_;
  std::unique_ptr<LinearScratch> scratch_;
  LinearInput head_input_;           // [max_rows, d]
  MatrixView<float> hidden_states_;  // [max_rows, d]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_MATMUL_BOUND_MATMUL_BOUND_H_
