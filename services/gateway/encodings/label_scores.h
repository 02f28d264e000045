// From the logits of a label head to what a client asked for.
#ifndef PHYLLO_SERVICES_GATEWAY_ENCODINGS_LABEL_SCORES_H_
#define PHYLLO_SERVICES_GATEWAY_ENCODINGS_LABEL_SCORES_H_

#include "absl/types/span.h"
#include "phyllo/common/v1/model.pb.h"

namespace phyllo {

// How the logits [label_count] of a head are meant that says `problem_type`: what it says, else
// regression if there is one label, else single-label classification.
common::v1::ProblemType ResolveProblemType(common::v1::ProblemType problem_type,
                                           int64_t label_count);

// Turns logits [label_count] into probabilities in place: softmax over all labels with
// single-label classification, the sigmoid of each with multi-label; a regression's values stay.
void LogitsToScores(common::v1::ProblemType problem_type, absl::Span<float> logits);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ENCODINGS_LABEL_SCORES_H_
