#include "model/tensor/block_types.h"

#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "model/tensor/dtype.h"

// One function a type, block by block. Offsets are those of block_types.h.

namespace phyllo {
namespace {

float ReadF16(const uint8_t* src) {
  return F16ToFloat(static_cast<uint16_t>(src[0] | src[1] << 8));
}

// Element i of 32 four-bit integers in 16 bytes: the low halves are elements 0 .. 15.
int Nibble(const uint8_t* q4, int i) { return i < 16 ? q4[i] & 15 : q4[i - 16] >> 4; }

// Bit i of a little-endian field.
int Bit(const uint8_t* field, int i) { return field[i / 8] >> (i % 8) & 1; }

void DequantizeQ4_0(const uint8_t* block, float* dst) {
  const float d = ReadF16(block);
  for (int i = 0; i < 32; ++i) dst[i] = d * static_cast<float>(Nibble(block + 2, i) - 8);
}

void DequantizeQ4_1(const uint8_t* block, float* dst) {
  const float d = ReadF16(block);
  const float m = ReadF16(block + 2);
  for (int i = 0; i < 32; ++i) dst[i] = d * static_cast<float>(Nibble(block + 4, i)) + m;
}

void DequantizeQ5_0(const uint8_t* block, float* dst) {
  const float d = ReadF16(block);
  for (int i = 0; i < 32; ++i) {
    const int q = Nibble(block + 6, i) | Bit(block + 2, i) << 4;
    dst[i] = d * static_cast<float>(q - 16);
  }
}

void DequantizeQ5_1(const uint8_t* block, float* dst) {
  const float d = ReadF16(block);
  const float m = ReadF16(block + 2);
  for (int i = 0; i < 32; ++i) {
    const int q = Nibble(block + 8, i) | Bit(block + 4, i) << 4;
    dst[i] = d * static_cast<float>(q) + m;
  }
}

void DequantizeQ8_0(const uint8_t* block, float* dst) {
  const float d = ReadF16(block);
  for (int i = 0; i < 32; ++i) dst[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// Element i of 256 two-bit integers in 64 bytes: byte l of each half holds, from its low bits on,
// elements l, l + 32, l + 64 and l + 96 of that half.
int Pair(const uint8_t* q2, int i) { return q2[i / 128 * 32 + i % 32] >> (2 * (i % 128 / 32)) & 3; }

void DequantizeQ2K(const uint8_t* block, float* dst) {
  const float d = ReadF16(block + 80);
  const float dmin = ReadF16(block + 82);
  for (int i = 0; i < 256; ++i) {
    const uint8_t scales = block[i / 16];
    dst[i] = d * static_cast<float>(scales & 15) * static_cast<float>(Pair(block + 16, i)) -
             dmin * static_cast<float>(scales >> 4);
  }
}

// Scale j of 16 six-bit ones in 12 bytes: 16 low halves as two runs of nibbles, then 16 high pairs.
int Q3KScale(const uint8_t* s6, int j) {
  const int low = j < 8 ? s6[j] & 15 : s6[j - 8] >> 4;
  const int high = s6[8 + j % 4] >> (2 * (j / 4)) & 3;
  return low | high << 4;
}

void DequantizeQ3K(const uint8_t* block, float* dst) {
  const float d = ReadF16(block + 108);
  for (int i = 0; i < 256; ++i) {
    const float scale = d * static_cast<float>(Q3KScale(block + 96, i / 16) - 32);
    const int high = block[i % 32] >> (i / 32) & 1;
    dst[i] = scale * static_cast<float>((Pair(block + 32, i) | high << 2) - 4);
  }
}

// Scale and minimum j of 8 each, six bits, in 12 bytes. The first four are the low six bits of
// bytes 0 .. 3 (scales) and 4 .. 7 (minima); of the others bytes 8 .. 11 hold the low four bits and
// the two highest bits of bytes 0 .. 7 the rest.
struct ScaleAndMinimum {
  float scale;
  float minimum;
};

ScaleAndMinimum Q4KScale(const uint8_t* st6, int j) {
  if (j < 4) return {static_cast<float>(st6[j] & 63), static_cast<float>(st6[j + 4] & 63)};
  const uint8_t low = st6[j + 4];
  return {static_cast<float>((low & 15) | (st6[j - 4] >> 6) << 4),
          static_cast<float>(low >> 4 | (st6[j] >> 6) << 4)};
}

// Element i of 256 four-bit integers in 128 bytes: of each run of 64 the low halves come first.
int Nibble256(const uint8_t* q4, int i) {
  const uint8_t byte = q4[i / 64 * 32 + i % 32];
  return i % 64 < 32 ? byte & 15 : byte >> 4;
}

// What Q4_K and Q5_K share: eight runs of 32 elements, each with a scale and a minimum of its own.
// integer(i) is element i before them.
template <typename Integer>
void DequantizeRuns(const uint8_t* block, float* dst, Integer integer) {
  const float d = ReadF16(block);
  const float dmin = ReadF16(block + 2);
  for (int j = 0; j < 8; ++j) {
    const ScaleAndMinimum of = Q4KScale(block + 4, j);
    const float scale = d * of.scale;
    const float minimum = dmin * of.minimum;
    for (int i = 32 * j; i < 32 * (j + 1); ++i)
      dst[i] = scale * static_cast<float>(integer(i)) - minimum;
  }
}

void DequantizeQ4K(const uint8_t* block, float* dst) {
  DequantizeRuns(block, dst, [block](int i) { return Nibble256(block + 16, i); });
}

void DequantizeQ5K(const uint8_t* block, float* dst) {
  DequantizeRuns(block, dst, [block](int i) {
    const int high = block[16 + i % 32] >> (i / 32) & 1;
    return Nibble256(block + 48, i) | high << 4;
  });
}

void DequantizeQ6K(const uint8_t* block, float* dst) {
  const float d = ReadF16(block + 208);
  for (int i = 0; i < 256; ++i) {
    // Of each run of 128 the low halves of 64 bytes come first.
    const uint8_t byte = block[i / 128 * 64 + i % 64];
    const int q = (i % 128 < 64 ? byte & 15 : byte >> 4) | Pair(block + 128, i) << 4;
    const float scale = d * static_cast<float>(static_cast<int8_t>(block[192 + i / 16]));
    dst[i] = scale * static_cast<float>(q - 32);
  }
}

using DequantizeBlock = void (*)(const uint8_t* block, float* dst);

DequantizeBlock FunctionOf(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0:
      return DequantizeQ4_0;
    case DType::kQ4_1:
      return DequantizeQ4_1;
    case DType::kQ5_0:
      return DequantizeQ5_0;
    case DType::kQ5_1:
      return DequantizeQ5_1;
    case DType::kQ8_0:
      return DequantizeQ8_0;
    case DType::kQ2K:
      return DequantizeQ2K;
    case DType::kQ3K:
      return DequantizeQ3K;
    case DType::kQ4K:
      return DequantizeQ4K;
    case DType::kQ5K:
      return DequantizeQ5K;
    case DType::kQ6K:
      return DequantizeQ6K;
    default:
      return nullptr;
  }
}

}  // namespace

void DequantizeBlocks(DType dtype, const void* src, absl::Span<float> dst) {
  const DequantizeBlock dequantize = FunctionOf(dtype);
  const int64_t elements = BlockElements(dtype);
  const int64_t bytes = ByteSize(dtype);
  const auto* block = static_cast<const uint8_t*>(src);
  for (float* out = dst.data(); out < dst.data() + dst.size(); out += elements, block += bytes)
    dequantize(block, out);
}

}  // namespace phyllo
