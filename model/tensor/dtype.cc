#include "model/tensor/dtype.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/tensor/block_types.h"

namespace phyllo {
namespace {

struct DTypeInfo {
  DType dtype;
  absl::string_view name;
  int64_t byte_size;  // of a block
  int64_t block_elements = 1;
};

// In the order of the enumerators.
constexpr DTypeInfo kInfo[] = {
    {DType::kF64, "F64", 8},         {DType::kF32, "F32", 4},
    {DType::kF16, "F16", 2},         {DType::kBf16, "BF16", 2},
    {DType::kI64, "I64", 8},         {DType::kI32, "I32", 4},
    {DType::kI16, "I16", 2},         {DType::kI8, "I8", 1},
    {DType::kU64, "U64", 8},         {DType::kU32, "U32", 4},
    {DType::kU16, "U16", 2},         {DType::kU8, "U8", 1},
    {DType::kBool, "BOOL", 1},       {DType::kF8E4M3, "F8_E4M3", 1},
    {DType::kF8E5M2, "F8_E5M2", 1},  {DType::kQ4_0, "Q4_0", 18, 32},
    {DType::kQ4_1, "Q4_1", 20, 32},  {DType::kQ5_0, "Q5_0", 22, 32},
    {DType::kQ5_1, "Q5_1", 24, 32},  {DType::kQ8_0, "Q8_0", 34, 32},
    {DType::kQ2K, "Q2_K", 84, 256},  {DType::kQ3K, "Q3_K", 110, 256},
    {DType::kQ4K, "Q4_K", 144, 256}, {DType::kQ5K, "Q5_K", 176, 256},
    {DType::kQ6K, "Q6_K", 210, 256},
};

const DTypeInfo& Info(DType dtype) { return kInfo[static_cast<int>(dtype)]; }

template <float (*kWiden)(uint16_t)>
void WidenAll(const uint8_t* src, absl::Span<float> dst) {
  for (size_t i = 0; i < dst.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, src + 2 * i, sizeof(bits));
    dst[i] = kWiden(bits);
  }
}

template <uint16_t (*kNarrow)(float)>
void NarrowAll(absl::Span<const float> src, uint8_t* dst) {
  for (size_t i = 0; i < src.size(); ++i) {
    const uint16_t bits = kNarrow(src[i]);
    std::memcpy(dst + 2 * i, &bits, sizeof(bits));
  }
}

}  // namespace

int64_t ByteSize(DType dtype) { return Info(dtype).byte_size; }

int64_t BlockElements(DType dtype) { return Info(dtype).block_elements; }

int64_t RunBytes(DType dtype, int64_t elements) {
  return elements / BlockElements(dtype) * ByteSize(dtype);
}

absl::string_view DTypeName(DType dtype) { return Info(dtype).name; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (const DTypeInfo& info : kInfo) {
    if (info.name == name && info.block_elements == 1) return info.dtype;
  }
  return std::nullopt;
}

bool IsPlainWeightDType(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16;
}

bool IsWeightDType(DType dtype) { return IsPlainWeightDType(dtype) || BlockElements(dtype) > 1; }

uint16_t FloatToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return sign | 0x7e00u | static_cast<uint16_t>((magnitude >> 13) & 0x3ffu);
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and more rounds to infinity
  if (magnitude >= 0x38800000u) {  // 2^-14: a normal result; a carry moves into the exponent
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return sign | static_cast<uint16_t>((rounded - (112u << 23)) >> 13);
  }
  if (magnitude < 0x33000000u) return sign;  // below 2^-25
  // Subnormal: the significand, shifted so that one unit is 2^-24, rounded to nearest even.
  const uint32_t exponent = magnitude >> 23;
  const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t shift = 126u - exponent;
  const uint32_t quotient = significand >> shift;
  const uint32_t remainder = significand & ((1u << shift) - 1u);
  const uint32_t half = 1u << (shift - 1u);
  const bool up = remainder > half || (remainder == half && (quotient & 1u) != 0);
  return sign | static_cast<uint16_t>(quotient + (up ? 1u : 0u));
}

void ConvertToFloat(DType dtype, const void* src, absl::Span<float> dst) {
  const auto* bytes = static_cast<const uint8_t*>(src);
  if (dst.empty()) return;
  if (dtype == DType::kBf16) return WidenAll<Bf16ToFloat>(bytes, dst);
  if (dtype == DType::kF16) return WidenAll<F16ToFloat>(bytes, dst);
  if (BlockElements(dtype) > 1) return DequantizeBlocks(dtype, bytes, dst);
  std::memcpy(dst.data(), bytes, dst.size() * sizeof(float));
}

void ConvertFromFloat(absl::Span<const float> src, DType dtype, void* dst) {
  auto* bytes = static_cast<uint8_t*>(dst);
  if (src.empty()) return;
  if (dtype == DType::kBf16) return NarrowAll<FloatToBf16>(src, bytes);
  if (dtype == DType::kF16) return NarrowAll<FloatToF16>(src, bytes);
  std::memcpy(bytes, src.data(), src.size() * sizeof(float));
}

}  // namespace phyllo
