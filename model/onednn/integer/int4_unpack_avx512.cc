#include <immintrin.h>

#include <cstdint>

#include "model/onednn/integer/int4_kernel.h"
#include "model/onednn/integer/int4_unpack.h"

namespace phyllo {
namespace {

struct Avx512 {
  static constexpr int64_t kBytes = 64;
  using Bytes = __m512i;

  static Bytes Load(const uint8_t* from) { return _mm512_load_si512(from); }
  static void Store(int8_t* to, Bytes bytes) { _mm512_store_si512(to, bytes); }
  // Four bits of each of 16 bytes, each in both 16-bit lanes of its column.
  static Bytes Multipliers(const uint8_t* from, int shift) {
    const __m512i wide =
        _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
    const __m512i four =
        _mm512_and_si512(_mm512_srl_epi32(wide, _mm_cvtsi32_si128(shift)), _mm512_set1_epi32(15));
    return _mm512_or_si512(four, _mm512_slli_epi32(four, 16));
  }
  static Bytes Set16(int value) { return _mm512_set1_epi16(static_cast<int16_t>(value)); }
  static Bytes And(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
  static Bytes Or(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
  static Bytes Multiply(Bytes a, Bytes b) { return _mm512_mullo_epi16(a, b); }
  template <int kBits>
  static Bytes ShiftLeft(Bytes a) {
    return _mm512_slli_epi16(a, kBits);
  }
  template <int kBits>
  static Bytes ShiftRight(Bytes a) {
    return _mm512_srli_epi16(a, kBits);
  }
  template <int kBits>
  static Bytes ShiftRightSigned(Bytes a) {
    return _mm512_srai_epi16(a, kBits);
  }
};

}  // namespace

void UnpackInt4Avx512(const uint8_t* panel, int64_t k, int8_t* unpacked) {
  UnpackInt4<Avx512>(panel, k, unpacked);
}

}  // namespace phyllo
