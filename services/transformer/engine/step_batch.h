// The rows of one step: gathered, computed, and turned into logits.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_STEP_BATCH_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_STEP_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/sampling/logits_row.h"
#include "model/tensor/matrix_view.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// Owns the buffers of a step, sized once: hidden_states [max_rows, d] and logits [max_logits_rows,
// v]. Thread-compatible.
class StepBatch {
 public:
  // Borrows the model.
  explicit StepBatch(StepModel& model);

  // Forgets all rows.
  void Clear();

  // Adds the next `row_count` rows of the sequence: takes pages for them, reads prompt rows from
  // its feed, embeds sampled tokens and, behind the last of them, those of its draft. On an error,
  // RESOURCE_EXHAUSTED without pages or what Embed returns, nothing is added.
  absl::Status Add(Sequence& sequence, int64_t row_count);

  // Computes all rows that were added. The errors are the model's.
  absl::Status Forward();

  // A row whose logits are wanted, which say what the token after `position` is: all of them, or
  // only the largest, which all rows of its sequence want then.
  struct LogitsRow {
    Sequence* sequence = nullptr;
    int64_t position = 0;
    int64_t row = 0;
    bool largest_only = false;
  };
  // What such a row gives.
  struct RowLogits {
    absl::Span<const float> all;  // [v]; empty if largest_only
    LargestLogit largest;         // set if largest_only
  };

  // After Forward: calls visit(row, logits, worker) for every row with a token to score or to
  // sample, in blocks of max_logits_rows. Rows of one block are visited concurrently, but those of
  // one sequence in order by one worker. The errors are the model's.
  using LogitsVisitor =
      absl::FunctionRef<void(const LogitsRow& row, const RowLogits& logits, int worker)>;
  absl::Status VisitLogits(LogitsVisitor visit);

  // The rows of the slice of that index, in the order of Add. After VisitLogits they may be
  // overwritten.
  MatrixView<float> SliceRows(int64_t index);

  // After Forward: whether the last row of the slice is finite, but for `rejected_count` rows of a
  // draft. As every row depends on all keys and values that it sees, those are finite then, too.
  bool IsFinite(size_t slice, int64_t rejected_count) const;

  int64_t row_count() const { return row_count_; }
  int64_t logits_row_count() const { return static_cast<int64_t>(logits_rows_.size()); }
  absl::Span<const StepSlice> slices() const { return slices_; }

 private:
  // Appends the rows [first, end) of the sequence whose logits are wanted, the first one's row of
  // the step being `row`.
  void AddLogitsRows(Sequence& sequence, int64_t first, int64_t end, int64_t row);
  // Calls `visit` for rows that were computed, with logits_ and largest_ from their beginning on.
  void VisitBlock(absl::Span<const LogitsRow> block, LogitsVisitor visit);

  StepModel& model_;
  std::vector<float> hidden_states_;   // [max_rows, d]
  std::vector<float> logits_;          // [max_logits_rows, v]
  std::vector<LargestLogit> largest_;  // [max_logits_rows]
  int64_t row_count_ = 0;
  std::vector<StepSlice> slices_;
  std::vector<LogitsRow> logits_rows_;  // those with largest_only first
  int64_t largest_only_count_ = 0;
  std::vector<int64_t> row_indices_;  // of one block
  std::vector<int64_t>
      group_begins_;  // of one block: where the rows of the next sequence begin, and the end
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_STEP_BATCH_H_
