// The part of the engine that encodes: what a request may ask of which model, and what becomes of
// the rows of a step.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENCODING_SEQUENCE_ENCODING_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENCODING_SEQUENCE_ENCODING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "model/tensor/matrix_view.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// FAILED_PRECONDITION, naming the head that the model has, for a generation or scoring without LM
// head. INVALID_ARGUMENT, naming the limit, for an encoding with Pooling::kNone that would be too
// large, and for one that is to generate or to score as well.
absl::Status CheckHead(const SequenceRequest& request, const StepModelSizes& sizes,
                       int64_t max_encoding_elements);

// With the model's own pooling where the request leaves it open.
EncodingRequest ResolveEncoding(const EncodingRequest& encoding, const StepModelSizes& sizes);

// Takes rows [n, d], which the step has computed from sequence.computed_count on; nothing for a
// sequence that is not encoded. The request's encoding must be resolved. Normalises those it needs
// in place. With the last row it makes sequence.encoding; if that is not finite, it sets
// sequence.step_status to INTERNAL. The errors are the model's.
absl::Status EncodeRows(StepModel& model, MatrixView<float> rows, Sequence& sequence);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENCODING_SEQUENCE_ENCODING_H_
