#include "model/heads/label_head.h"

#include "model/base/check.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/weight_map.h"

namespace phyllo {

absl::StatusOr<LabelHead> LabelHead::Load(const DecoderDescription& description,
                                          const Checkpoint& checkpoint) {
  const WeightMap map = BuildWeightMap(description);
  const WeightSpec* const score = map.Find(WeightRole::kScore);
  PHYLLO_CHECK(description.head == HeadKind::kLabels && score != nullptr);
  PHYLLO_ASSIGN_OR_RETURN(const TensorView* const tensor, FindWeight(*score, checkpoint));
  LabelHead head;
  head.num_labels_ = score->rows;
  head.hidden_size_ = score->columns;
  head.score_.resize(score->rows * score->columns);
  ReadWeightRows(*score, *tensor, 0, absl::MakeSpan(head.score_));
  return head;
}

void LabelHead::Apply(absl::Span<const float> hidden_state, absl::Span<float> logits) const {
  PHYLLO_CHECK(static_cast<int64_t>(hidden_state.size()) == hidden_size_ &&
               static_cast<int64_t>(logits.size()) == num_labels_);
  for (int64_t label = 0; label < num_labels_; ++label) {
    const float* const weights = score_.data() + label * hidden_size_;
    double sum = 0.0;
    for (int64_t j = 0; j < hidden_size_; ++j)
      sum += static_cast<double>(weights[j]) * static_cast<double>(hidden_state[j]);
    logits[label] = static_cast<float>(sum);
  }
}

}  // namespace phyllo
