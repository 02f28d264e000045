// Times single steps of a model.
#ifndef PHYLLO_CLIENTS_BENCH_MODEL_MODEL_STEPS_H_
#define PHYLLO_CLIENTS_BENCH_MODEL_MODEL_STEPS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/embedding/embedding_table.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/parallel/thread_pool.h"
#include "model/sampling/logits_row.h"
#include "model/transformer/matmul_bound/matmul_bound.h"
#include "model/transformer/transformer.h"

namespace phyllo {

struct ModelStepsOptions {
  std::string model;          // a model folder or GGUF file
  std::string precision;      // as the transformer's --precision
  int threads = 0;            // 0: physical cores within the CPU set and quota
  int64_t max_rows = 1;       // of one step
  int64_t max_batch = 1;      // sequences of one step
  int64_t max_positions = 1;  // of one sequence
  int64_t max_tokens = 1;     // of all sequences together
  bool bound = false;
};

// Owns a model and what its steps need. Thread-compatible.
class ModelSteps {
 public:
  // Errors: those of reading the folder and of Transformer::Load; INVALID_ARGUMENT for a precision
  // that cannot be read and for more positions than the model has.
  static absl::StatusOr<std::unique_ptr<ModelSteps>> Load(const ModelStepsOptions& options);

  // A sequence without tokens.
  SequencePages NewSequence();

  // Seconds of one step: `rows` random tokens of each sequence, from `first_position` on, embedded,
  // computed, and the largest logit of each sequence's last, as a server's step of greedy sequences
  // does. Earlier steps must have computed the positions before.
  absl::StatusOr<double> TimeStep(absl::Span<SequencePages> sequences, int64_t rows,
                                  int64_t first_position);
  // Seconds of the matrix products of such a step. Requires that the bound was asked for.
  double TimeBound(int64_t rows, int64_t logits_rows);

  const std::string& precision() const { return precision_; }
  int threads() const { return pool_->num_threads(); }
  double load_seconds() const { return load_seconds_; }
  int64_t weight_bytes() const { return transformer_->weight_bytes(); }

 private:
  ModelSteps() = default;
  absl::Status LoadBound(const ModelPrecision& precision, int64_t max_rows);

  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Transformer> transformer_;
  std::unique_ptr<EmbeddingTable> embedding_table_;
  std::unique_ptr<MatmulBound> bound_;  // null if not asked for
  std::string precision_;
  double load_seconds_ = 0;
  std::vector<float> hidden_states_;   // [max_rows, d]
  std::vector<LargestLogit> largest_;  // [max_batch]
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_MODEL_MODEL_STEPS_H_
