// A prompt that is given as rows of vectors instead of ids.
#ifndef PHYLLO_SERVICES_GATEWAY_REQUESTS_PROMPT_TENSOR_H_
#define PHYLLO_SERVICES_GATEWAY_REQUESTS_PROMPT_TENSOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "phyllo/common/v1/tensor.pb.h"

namespace phyllo {

// OK if `rows` are finite numbers F32, F16 or BF16 of shape [n, hidden_size], n >= 1, and their
// bytes are as many as that says. INVALID_ARGUMENT for field "hidden_states" otherwise.
absl::Status CheckPromptRows(const common::v1::Tensor& rows, int64_t hidden_size);

// Rows [first, first + count) of rows that have passed the check.
common::v1::Tensor SlicePromptRows(const common::v1::Tensor& rows, int64_t first, int64_t count);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_REQUESTS_PROMPT_TENSOR_H_
