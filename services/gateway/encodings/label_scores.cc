#include "services/gateway/encodings/label_scores.h"

#include <algorithm>
#include <cmath>

namespace phyllo {
namespace {

void Softmax(absl::Span<float> values) {
  const float largest = *std::max_element(values.begin(), values.end());
  double sum = 0.0;
  for (float& value : values) {
    value = std::exp(value - largest);
    sum += static_cast<double>(value);
  }
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) / sum);
}

}  // namespace

common::v1::ProblemType ResolveProblemType(common::v1::ProblemType problem_type,
                                           int64_t label_count) {
  if (problem_type != common::v1::PROBLEM_TYPE_UNSPECIFIED) return problem_type;
  return label_count == 1 ? common::v1::PROBLEM_TYPE_REGRESSION
                          : common::v1::PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION;
}

void LogitsToScores(common::v1::ProblemType problem_type, absl::Span<float> logits) {
  if (problem_type == common::v1::PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION && !logits.empty())
    Softmax(logits);
  if (problem_type == common::v1::PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION) {
    for (float& value : logits) value = 1.0f / (1.0f + std::exp(-value));
  }
}

}  // namespace phyllo
