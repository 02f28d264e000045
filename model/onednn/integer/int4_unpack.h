#ifndef PHYLLO_MODEL_ONEDNN_INTEGER_INT4_UNPACK_H_
#define PHYLLO_MODEL_ONEDNN_INTEGER_INT4_UNPACK_H_

// The loop of UnpackInt4*, over what an instruction set offers. Isa is a type private to the file
// that includes this one, so that no two instruction sets share an instance. It has a register
// Bytes of kBytes, and operations on its 16-bit lanes.

#include <cstdint>

#include "model/onednn/integer/int4_layout.h"

namespace phyllo {

// Bytes multiplier * q, where q are the upper four bits of each byte of `nibbles` and the 16-bit
// lanes of `multipliers` their multipliers. Each lane holds two q: brought to its upper byte one is
// 256 * q, whose product with the multiplier has no other bits than those of the upper byte.
template <class Isa>
inline typename Isa::Bytes TimesMultipliers(typename Isa::Bytes nibbles,
                                            typename Isa::Bytes multipliers) {
  using Bytes = typename Isa::Bytes;
  const Bytes upper = Isa::template ShiftRightSigned<4>(Isa::And(nibbles, Isa::Set16(0xf000)));
  const Bytes lower = Isa::template ShiftRightSigned<4>(
      Isa::template ShiftLeft<8>(Isa::And(nibbles, Isa::Set16(0x00f0))));
  return Isa::Or(Isa::Multiply(upper, multipliers),
                 Isa::template ShiftRight<8>(Isa::Multiply(lower, multipliers)));
}

template <class Isa>
inline void UnpackInt4(const uint8_t* panel, int64_t k, int8_t* unpacked) {
  constexpr int64_t kColumns = Isa::kBytes / 4;  // of a register
  constexpr int64_t kRow = Int4Layout::kPanel * 4;
  for (int64_t begin = 0; begin < k; begin += Int4Layout::kBlock) {
    for (int64_t group = 0; group < 2; ++group) {
      for (int64_t column = 0; column < Int4Layout::kPanel; column += kColumns) {
        const int64_t at = begin + group * Int4Layout::kGroup;
        const typename Isa::Bytes multipliers = Isa::Multipliers(
            panel + Int4Layout::MultiplierByte(begin, column), static_cast<int>(group) * 4);
        const uint8_t* from = panel + Int4Layout::WeightByte(at, column);
        int8_t* to = unpacked + at / 4 * kRow + column * 4;
        for (int64_t eight = 0; eight < Int4Layout::kGroup / 8;
             ++eight, from += 128, to += 2 * kRow) {
          const typename Isa::Bytes both = Isa::Load(from);
          Isa::Store(to, TimesMultipliers<Isa>(Isa::template ShiftLeft<4>(both), multipliers));
          Isa::Store(to + kRow, TimesMultipliers<Isa>(both, multipliers));
        }
      }
    }
  }
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_INTEGER_INT4_UNPACK_H_
