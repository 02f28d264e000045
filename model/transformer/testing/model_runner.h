// Runs a Hugging Face model folder in the test's own process: ids in, logits out.
//   PHYLLO_ASSERT_OK_AND_ASSIGN(const auto runner, ModelRunner::Load(directory, {}));
//   SequencePages pages = runner->NewSequence();
//   PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->Prefill(pages, prompt,
//   /*chunk=*/64));
#ifndef PHYLLO_MODEL_TRANSFORMER_TESTING_MODEL_RUNNER_H_
#define PHYLLO_MODEL_TRANSFORMER_TESTING_MODEL_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/model_config.h"
#include "model/embedding/embedding_table.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/transformer.h"

namespace phyllo {

struct ModelRunnerOptions {
  ModelPrecision precision = {};
  int num_threads = 1;
  int64_t max_rows = 512;
  int64_t page_size = 64;
  int64_t kv_page_count = 64;
  std::string config_file = "config.json";  // inside the folder
};

// The part of one sequence that a step computes.
struct SequenceChunk {
  SequencePages* pages = nullptr;  // not null; made to hold what the chunk needs
  int64_t first_position = 0;
  int64_t prompt_length = 0;
  absl::Span<const int32_t> token_ids;  // [n]
};

// Owns a model and all it needs. Thread-compatible.
class ModelRunner {
 public:
  static absl::StatusOr<std::unique_ptr<ModelRunner>> Load(const std::string& directory,
                                                           const ModelRunnerOptions& options);
  // The same with a config of one's own.
  static absl::StatusOr<std::unique_ptr<ModelRunner>> Load(const ModelConfig& config,
                                                           const std::string& directory,
                                                           const ModelRunnerOptions& options);

  // A sequence without tokens.
  SequencePages NewSequence();

  // One step over all chunks. Returns the logits of every row, [rows, v], chunk behind chunk;
  // nothing if the model has no LM head.
  absl::StatusOr<std::vector<float>> Step(absl::Span<const SequenceChunk> chunks,
                                          const LayerObserver* observer = nullptr);

  // A whole prompt, from position 0, in steps of at most `chunk` tokens. Returns the logits of
  // every position, [n, v].
  absl::StatusOr<std::vector<float>> Prefill(SequencePages& pages,
                                             absl::Span<const int32_t> token_ids, int64_t chunk,
                                             const LayerObserver* observer = nullptr);

  // The embeddings of the step, or what Forward made of them: [rows, d] of the last Step.
  MatrixView<const float> embeddings() const;
  MatrixView<const float> hidden_states() const;

  int64_t vocab_size() const { return embedding_table_->vocab_size(); }
  Transformer& transformer() { return *transformer_; }

 private:
  ModelRunner() = default;

  ModelRunnerOptions options_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<EmbeddingTable> embedding_table_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Transformer> transformer_;
  std::vector<float> embeddings_;     // [rows, d]
  std::vector<float> hidden_states_;  // [rows, d]
};

// The index of the largest logit, the lowest on a tie.
int64_t ArgmaxOf(absl::Span<const float> logits);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_TESTING_MODEL_RUNNER_H_
