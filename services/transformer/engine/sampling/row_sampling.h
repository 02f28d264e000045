// What the logits of a step say: tokens scored and tokens sampled, on their way to their readers.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SAMPLING_ROW_SAMPLING_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SAMPLING_ROW_SAMPLING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/sampling/sampler.h"
#include "services/transformer/engine/step_batch.h"

namespace phyllo {

// Owns a sampler for each worker. Thread-compatible, but that workers may call Take concurrently
// for different sequences, each with its own number.
class RowSampling {
 public:
  RowSampling(int num_workers, int64_t vocab_size);

  // Scores the prompt token behind the row, or samples the next token: into the sequence and its
  // outbox. Rows of a draft behind the first token that was not drawn say nothing and are passed
  // over, so that every draw sees the tokens it would see without a draft. An error becomes the
  // sequence's step_status, after which its rows are passed over.
  void Take(const StepBatch::LogitsRow& row, const StepBatch::RowLogits& logits, int worker);

 private:
  absl::StatusOr<SampledToken> TokenOf(const StepBatch::LogitsRow& row,
                                       const StepBatch::RowLogits& logits, int worker);

  std::vector<Sampler> samplers_;  // [num_workers]
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SAMPLING_ROW_SAMPLING_H_
