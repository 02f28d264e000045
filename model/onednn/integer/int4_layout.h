#ifndef PHYLLO_MODEL_ONEDNN_INTEGER_INT4_LAYOUT_H_
#define PHYLLO_MODEL_ONEDNN_INTEGER_INT4_LAYOUT_H_

#include <cstdint>

namespace phyllo {

// How weights of four bits lie in a panel of 64 output features (columns). A weight is
// (multiplier of its group) * q, q in [-8, 7], multiplier in [0, 15], times the scale of its
// column; a group is kGroup input features. A panel is a sequence of blocks of kBlock input
// features, read from end to end:
//   multipliers [64]: a byte a column, the first group of the block in its lower four bits
//   for each of the two groups, for each half of the columns, for each eight of k, for each sixteen
//   of the half's columns: [16, 4] bytes, of which byte b holds in its lower four bits the q
//   (two's complement) of the eight's k = b, in its upper four bits that of k = b + 4.
// So a register of 64 bytes splits into two of what a PanelProduct of int8 reads.
struct Int4Layout {
  static constexpr int64_t kPanel = 64;
  static constexpr int64_t kGroup = 32;
  static constexpr int64_t kBlock = 2 * kGroup;
  static constexpr int64_t kGroupBytes = kGroup * kPanel / 2;
  static constexpr int64_t kBlockBytes = kPanel + 2 * kGroupBytes;
  static constexpr int64_t kHalfBytes = kGroupBytes / 2;  // of a group, 32 columns

  // Where the multiplier of (k, column) lies, from the beginning of the panel; in the upper four
  // bits if k is of the second group of its block.
  static constexpr int64_t MultiplierByte(int64_t k, int64_t column) {
    return k / kBlock * kBlockBytes + column;
  }
  // Where q of (k, column) lies; in the upper four bits if k % 8 >= 4.
  static constexpr int64_t WeightByte(int64_t k, int64_t column) {
    return k / kBlock * kBlockBytes + kPanel + k % kBlock / kGroup * kGroupBytes +
           column / 32 * kHalfBytes + k % kGroup / 8 * 128 + column % 32 / 16 * 64 +
           column % 16 * 4 + k % 4;
  }
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_INTEGER_INT4_LAYOUT_H_
