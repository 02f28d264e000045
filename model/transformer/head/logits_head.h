// What stands behind the last layer of a language model: the final norm and the LM head.
#ifndef PHYLLO_MODEL_TRANSFORMER_HEAD_LOGITS_HEAD_H_
#define PHYLLO_MODEL_TRANSFORMER_HEAD_LOGITS_HEAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/config/decoder_description.h"
#include "model/onednn/packed_linear.h"
#include "model/sampling/logits_row.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/step_context.h"

namespace phyllo {

// Owns what it computes with, but for the weights. Thread-compatible.
class LogitsHead {
 public:
  struct Options {
    Precision precision = Precision::kF32;  // of the LM head
    int64_t max_rows = 1;                   // of one Compute
    int num_workers = 1;                    // threads of the pool that computes
  };
  // Takes memory from `arena`: RESOURCE_EXHAUSTED if it has none.
  static absl::StatusOr<LogitsHead> Create(const DecoderDescription& description,
                                           const Options& options, HugePageArena& arena);

  // The logits of rows [b], b <= max_rows, of hidden_states [m, d]: of the first largest.size()
  // rows only the largest one is kept, those of the others go to logits [b - largest.size(), v].
  // The logits of a row are the same bits either way. Requires weights with an LM head. Does not
  // allocate.
  void Compute(const StepContext& step, const HeadWeights& weights, absl::Span<const int64_t> rows,
               MatrixView<const float> hidden_states, absl::Span<LargestLogit> largest,
               MatrixView<float> logits);

 private:
  LogitsHead(const DecoderDescription& description, const Options& options);

  // Takes in the logits [m, n] from (row, column) on.
  void TakeTile(const StepContext& step, MatrixView<float> tile, int64_t row, int64_t column,
                int worker, MatrixView<float> logits);

  float divisor_;
  float soft_cap_;
  LinearInput input_;                               // [max_rows, d]
  std::vector<std::vector<LargestLogit>> largest_;  // [num_workers][max_rows]: of each one's tiles
  int64_t largest_count_ = 0;                       // of the current Compute
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_HEAD_LOGITS_HEAD_H_
