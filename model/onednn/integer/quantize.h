// Weights as small integers and a scale per output feature.
#ifndef PHYLLO_MODEL_ONEDNN_INTEGER_QUANTIZE_H_
#define PHYLLO_MODEL_ONEDNN_INTEGER_QUANTIZE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace phyllo {

// w [k] ~ scale * q [k], q in [-127, 127] rounded to nearest even, scale = (largest |w|) / 127.
// Returns the scale: 0 for a row of zeros (or of values so small that the scale underflows), NaN
// if w has NaN or infinity, both with q = 0. Requires q.size() == w.size().
float QuantizeToInt8(absl::Span<const float> w, absl::Span<int8_t> q);

// Inputs that share a multiplier of QuantizeToInt4.
inline constexpr int64_t kInt4Group = 32;

// w [k] ~ scale * multipliers [k / kInt4Group, rounded up] * q [k], q in [-8, 7], multipliers in
// [0, 15] (0 for a group of zeros): the scale out of a grid and the multipliers of least squared
// error, the scale then adjusted to them. Depends on w only, not on the CPU or the build. Returns
// the scale: 0 for a row of zeros (or of values below 1e-30), NaN if w has NaN or infinity, both
// with q = 0. Requires q.size() == w.size() and as many multipliers as there are groups.
float QuantizeToInt4(absl::Span<const float> w, absl::Span<uint8_t> multipliers,
                     absl::Span<int8_t> q);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_INTEGER_QUANTIZE_H_
