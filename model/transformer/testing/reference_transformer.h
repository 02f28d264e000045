// The forward pass written down as plainly as possible, in double: what the fast one is tested
// against.
#ifndef PHYLLO_MODEL_TRANSFORMER_TESTING_REFERENCE_TRANSFORMER_H_
#define PHYLLO_MODEL_TRANSFORMER_TESTING_REFERENCE_TRANSFORMER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"

namespace phyllo {

// The logits [n, v] of a whole sequence of n token ids: no cache, no pages, no threads, no packing,
// double throughout. The rotation of every position is that of a prompt of n tokens. Shares with
// the library the description of the model, the names of the weights and the RoPE frequencies, no
// arithmetic. Errors: those of FindWeight and RopeFrequencies.
absl::StatusOr<std::vector<double>> ComputeReferenceLogits(const DecoderDescription& description,
                                                           const Checkpoint& checkpoint,
                                                           absl::Span<const int32_t> token_ids);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_TESTING_REFERENCE_TRANSFORMER_H_
