// Division of sizes into whole parts.
#ifndef PHYLLO_MODEL_BASE_ROUNDING_H_
#define PHYLLO_MODEL_BASE_ROUNDING_H_

#include <cstdint>

namespace phyllo {

// How many parts of `size` hold `value`: the quotient, rounded up. Requires value >= 0, size >= 1.
constexpr int64_t CeilDiv(int64_t value, int64_t size) { return (value + size - 1) / size; }

// The least multiple of `granule` that is not below `value`. Requires value >= 0, granule >= 1.
constexpr int64_t RoundUp(int64_t value, int64_t granule) {
  return CeilDiv(value, granule) * granule;
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_ROUNDING_H_
