#ifndef PHYLLO_MODEL_ONEDNN_TILE_ROWS_H_
#define PHYLLO_MODEL_ONEDNN_TILE_ROWS_H_

#include <cstdint>

namespace phyllo {

// What the sums of a row of a tile become in y, for n columns: y = or, with `add`, y += the value.
// Compiled for speed, since every element of y passes here.

// sum + bias. sums, bias, y [n].
void WriteFloatRow(const float* sums, const float* bias, int64_t n, bool add, float* y);

// Of sums of bytes: (sum - offset) * (row_scale * scale) + bias, the last two operations in one
// rounding. sums, offsets, scales, bias, y [n].
void WriteIntegerRow(const int32_t* sums, const int32_t* offsets, const float* scales,
                     float row_scale, const float* bias, int64_t n, bool add, float* y);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_TILE_ROWS_H_
