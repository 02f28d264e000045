// From the wire to the engine. A field that cannot be honoured is an error that names it; nothing
// is ignored.
#ifndef PHYLLO_SERVICES_TRANSFORMER_WIRE_REQUEST_CONVERSION_H_
#define PHYLLO_SERVICES_TRANSFORMER_WIRE_REQUEST_CONVERSION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "phyllo/common/v1/tensor.pb.h"
#include "phyllo/transformer/v1/generate.pb.h"
#include "phyllo/transformer/v1/transformer.pb.h"
#include "services/transformer/engine/sequence.h"

namespace phyllo {

// INVALID_ARGUMENT naming a field that is missing, out of range or not supported; NOT_FOUND for an
// unknown adapter. What depends on the model (vocabulary, lengths) is left to the engine.
absl::StatusOr<SequenceRequest> ToSequenceRequest(const transformer::v1::GenerateStart& start);
absl::StatusOr<SequenceRequest> ToSequenceRequest(const transformer::v1::ScoreStart& start);
absl::StatusOr<SequenceRequest> ToSequenceRequest(const transformer::v1::EncodeStart& start);

// The elements of `rows` [count, hidden_size] as floats. INVALID_ARGUMENT if the type, the shape or
// the number of bytes is wrong.
absl::StatusOr<std::vector<float>> ToHiddenStates(const common::v1::Tensor& rows,
                                                  int64_t hidden_size);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_WIRE_REQUEST_CONVERSION_H_
