// Element types of tensors, and exact conversions between the floating-point ones.
//
// All functions are pure and thread-safe.
#ifndef PHYLLO_MODEL_TENSOR_DTYPE_H_
#define PHYLLO_MODEL_TENSOR_DTYPE_H_

#include <bit>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace phyllo {

// The element types of tensors in checkpoints. Model weights are kF32, kF16, kBf16 or of a block
// type; the others occur as buffers (masks, position ids) that a safetensors file may carry and the
// loader ignores. Block types exist in GGUF files only: a run of elements of a row is stored
// together with its scales (block_types.h has the formulas).
enum class DType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBf16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2,
  kQ4_0,  // blocks of 32
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2K,  // blocks of 256
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K
};

// Size of one element in bytes: 1, 2, 4 or 8; of one block for a block type.
int64_t ByteSize(DType dtype);

// Elements that are stored together: 1, or 32 or 256 for a block type. A row of a tensor is whole
// blocks.
int64_t BlockElements(DType dtype);

// Bytes of `elements` successive elements. REQUIRES: whole blocks.
int64_t RunBytes(DType dtype, int64_t elements);

// The name that safetensors uses, such as "BF16"; for a block type that of GGUF, such as "Q4_K".
absl::string_view DTypeName(DType dtype);

// The type of that name in a safetensors file; nullopt if there is none (names are upper case).
std::optional<DType> ParseDType(absl::string_view name);

// True for kF32, kF16 and kBf16: each element stands alone.
bool IsPlainWeightDType(DType dtype);

// True for the types that weights may have: the plain ones and the block types.
bool IsWeightDType(DType dtype);

// A bfloat16 is the upper half of a float, so widening is exact.
inline float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Rounds to nearest, ties to even, as torch does. NaN stays NaN (quiet), overflow becomes infinity.
inline uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

// IEEE 754 binary16 to binary32: exact, subnormals included, whatever the denormal mode of the
// thread is.
inline float F16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  const uint32_t normal = (magnitude << 13) + (112u << 23);  // exponent bias 15 -> 127
  const uint32_t special = (magnitude << 13) | 0x7f800000u;  // infinity or NaN
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t absolute = magnitude >= 0x7c00u  ? special
                            : magnitude < 0x0400u ? subnormal
                                                  : normal;
  return std::bit_cast<float>(absolute | sign);
}

// Rounds to nearest, ties to even; overflow becomes infinity, tiny values become subnormals or
// zero, NaN stays NaN.
uint16_t FloatToF16(float value);

// Widens `dst.size()` elements of type `dtype` at `src`, which need not be aligned, to float. Exact
// for the plain types; by the formulas of block_types.h for block types. REQUIRES:
// IsWeightDType(dtype); whole blocks; the ranges do not overlap.
void ConvertToFloat(DType dtype, const void* src, absl::Span<float> dst);

// Narrows `src` to `dtype` (kF32, kF16 or kBf16; round to nearest even) into `dst`, which need not
// be aligned and has room for src.size() elements. REQUIRES: IsPlainWeightDType(dtype); the ranges
// do not overlap.
void ConvertFromFloat(absl::Span<const float> src, DType dtype, void* dst);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TENSOR_DTYPE_H_
