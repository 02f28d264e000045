#include "model/onednn/tile_rows.h"

#include <cmath>
#include <cstdint>

#include "model/onednn/linear_kernels.h"

namespace phyllo {
namespace {

// y = or += value(j) for j < n. Nearly all rows are of whole panels, a count that the compiler
// knows.
template <class Value>
void WriteRow(int64_t n, bool add, float* __restrict y, const Value& value) {
  if (n == kLinearPanel && add) {
    for (int64_t j = 0; j < kLinearPanel; ++j) y[j] += value(j);
  } else if (n == kLinearPanel) {
    for (int64_t j = 0; j < kLinearPanel; ++j) y[j] = value(j);
  } else {
    for (int64_t j = 0; j < n; ++j) y[j] = add ? y[j] + value(j) : value(j);
  }
}

}  // namespace

void WriteFloatRow(const float* sums, const float* bias, int64_t n, bool add, float* y) {
  WriteRow(n, add, y, [=](int64_t j) { return sums[j] + bias[j]; });
}

void WriteIntegerRow(const int32_t* sums, const int32_t* offsets, const float* scales,
                     float row_scale, const float* bias, int64_t n, bool add, float* y) {
  WriteRow(n, add, y, [=](int64_t j) {
    return std::fma(static_cast<float>(sums[j] - offsets[j]), row_scale * scales[j], bias[j]);
  });
}

}  // namespace phyllo
