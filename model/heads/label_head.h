// The head of a classification or regression model.
#ifndef PHYLLO_MODEL_HEADS_LABEL_HEAD_H_
#define PHYLLO_MODEL_HEADS_LABEL_HEAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"

namespace phyllo {

// logits [num_labels] = score [num_labels, d] x, without bias, for the final hidden state x [d] of
// the last token (transformers: GenericForSequenceClassification). The weights are widened to f32
// and kept so in every precision: they are small. A logit is one sum in double over d. Owns its
// weights; immutable, hence thread-safe.
class LabelHead {
 public:
  // Reads `score`. Requires description.head == HeadKind::kLabels. Errors of FindWeight.
  static absl::StatusOr<LabelHead> Load(const DecoderDescription& description,
                                        const Checkpoint& checkpoint);

  // Writes logits [num_labels] for hidden_state [d].
  void Apply(absl::Span<const float> hidden_state, absl::Span<float> logits) const;

  int64_t num_labels() const { return num_labels_; }

 private:
  LabelHead() = default;

  int64_t num_labels_ = 0;
  int64_t hidden_size_ = 0;
  std::vector<float> score_;  // [num_labels, d]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_HEADS_LABEL_HEAD_H_
