// A model that is another one, but for what a subclass does in its own way.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_FORWARDING_STEP_MODEL_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_FORWARDING_STEP_MODEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/sampling/logits_row.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/step_slice.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// Passes every call on. Thread-compatible.
class ForwardingStepModel : public StepModel {
 public:
  // Borrows the model.
  explicit ForwardingStepModel(StepModel& model) : model_(model) {}

  const StepModelSizes& sizes() const override { return model_.sizes(); }
  absl::Span<const KvPageGroup> page_groups() const override { return model_.page_groups(); }
  void CopyPage(int64_t group, int32_t source, int32_t target) override {
    model_.CopyPage(group, source, target);
  }
  int64_t ReusablePositions(int64_t prompt_length) const override {
    return model_.ReusablePositions(prompt_length);
  }
  absl::Status Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                     absl::Span<float> out) override {
    return model_.Embed(token_ids, first_position, out);
  }
  absl::Status Forward(absl::Span<const StepSlice> slices,
                       MatrixView<float> hidden_states) override {
    return model_.Forward(slices, hidden_states);
  }
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits) override {
    return model_.ComputeLogits(rows, hidden_states, largest, logits);
  }
  absl::Status ApplyFinalNorm(MatrixView<float> rows) override {
    return model_.ApplyFinalNorm(rows);
  }
  absl::Status ApplyLabelHead(absl::Span<const float> hidden_state,
                              absl::Span<float> logits) override {
    return model_.ApplyLabelHead(hidden_state, logits);
  }
  int num_threads() const override { return model_.num_threads(); }
  void ParallelFor(int64_t num_tasks,
                   absl::FunctionRef<void(int64_t task, int worker)> function) override {
    model_.ParallelFor(num_tasks, function);
  }

 private:
  StepModel& model_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_FORWARDING_STEP_MODEL_H_
