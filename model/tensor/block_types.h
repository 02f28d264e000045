// The block types of GGUF files: what a block holds, and the elements it stands for.
//
// A block of 32 (Q4_0 .. Q8_0) or 256 elements (the K types) holds integers q and scales. d, m and
// dmin are binary16; s[j] and t[j] are small integers, one for each 16 or 32 elements. All integers
// are little-endian; bit fields begin at the lowest bit.
//
//   type  bytes              element i
//   Q4_0  d q4[16]           d * (q - 8)
//   Q4_1  d m q4[16]         d * q + m
//   Q5_0  d q1[4] q4[16]     d * (q - 16)
//   Q5_1  d m q1[4] q4[16]   d * q + m
//   Q8_0  d q8[32]           d * q
//   Q2_K  st4[16] q2[64] d dmin           d * s[i/16] * q - dmin * t[i/16]
//   Q3_K  q1[32] q2[64] s6[12] d          d * (s[i/16] - 32) * (q - 4)
//   Q4_K  d dmin st6[12] q4[128]          d * s[i/32] * q - dmin * t[i/32]
//   Q5_K  d dmin st6[12] q1[32] q4[128]   d * s[i/32] * q - dmin * t[i/32]
//   Q6_K  q4[128] q2[64] s8[16] d         d * s[i/16] * (q - 32)
//
// Every product of an element is exact in float (at most 24 significant bits), so that only the one
// sum rounds, and the result is the same bits whether a compiler fuses the two or not. Source: the
// structures of ggml-common.h and the dequantisation of gguf-py (gguf/quants.py), which block_types
// are tested against.
#ifndef PHYLLO_MODEL_TENSOR_BLOCK_TYPES_H_
#define PHYLLO_MODEL_TENSOR_BLOCK_TYPES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace phyllo {

enum class DType : uint8_t;

// The elements of the blocks at `src`, which need not be aligned. Pure, thread-safe. REQUIRES:
// BlockElements(dtype) > 1 and divides dst.size().
void DequantizeBlocks(DType dtype, const void* src, absl::Span<float> dst);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TENSOR_BLOCK_TYPES_H_
