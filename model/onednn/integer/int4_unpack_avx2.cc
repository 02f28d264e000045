#include <immintrin.h>

#include <cstdint>

#include "model/onednn/integer/int4_kernel.h"
#include "model/onednn/integer/int4_unpack.h"

namespace phyllo {
namespace {

struct Avx2 {
  static constexpr int64_t kBytes = 32;
  using Bytes = __m256i;

  static Bytes Load(const uint8_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  static void Store(int8_t* to, Bytes bytes) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), bytes);
  }
  // Four bits of each of 8 bytes, each in both 16-bit lanes of its column.
  static Bytes Multipliers(const uint8_t* from, int shift) {
    const __m256i wide =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    const __m256i four =
        _mm256_and_si256(_mm256_srl_epi32(wide, _mm_cvtsi32_si128(shift)), _mm256_set1_epi32(15));
    return _mm256_or_si256(four, _mm256_slli_epi32(four, 16));
  }
  static Bytes Set16(int value) { return _mm256_set1_epi16(static_cast<int16_t>(value)); }
  static Bytes And(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
  static Bytes Or(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
  static Bytes Multiply(Bytes a, Bytes b) { return _mm256_mullo_epi16(a, b); }
  template <int kBits>
  static Bytes ShiftLeft(Bytes a) {
    return _mm256_slli_epi16(a, kBits);
  }
  template <int kBits>
  static Bytes ShiftRight(Bytes a) {
    return _mm256_srli_epi16(a, kBits);
  }
  template <int kBits>
  static Bytes ShiftRightSigned(Bytes a) {
    return _mm256_srai_epi16(a, kBits);
  }
};

}  // namespace

void UnpackInt4Avx2(const uint8_t* panel, int64_t k, int8_t* unpacked) {
  UnpackInt4<Avx2>(panel, k, unpacked);
}

}  // namespace phyllo
