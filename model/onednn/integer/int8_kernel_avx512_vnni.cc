#include <immintrin.h>

#include <cstdint>

#include "model/onednn/integer/int8_kernel.h"
#include "model/onednn/integer/int8_register_tile.h"

namespace phyllo {
namespace {

struct Avx512Vnni {
  static constexpr int kLanes = 16;
  using Sum = __m512i;
  using Weights = __m512i;
  using Input = __m512i;

  static Weights Prepare(const int8_t* panel) { return _mm512_load_si512(panel); }
  static Input Broadcast(const uint8_t* x) {
    return _mm512_castps_si512(
        _mm512_broadcastss_ps(_mm_load_ss(reinterpret_cast<const float*>(x))));
  }
  static Sum Dot(Sum sum, Input x, Weights w) { return _mm512_dpbusd_epi32(sum, x, w); }
  static Sum Zero() { return _mm512_setzero_si512(); }
  static Sum Load(const int32_t* tile) { return _mm512_load_si512(tile); }
  static void Store(int32_t* tile, Sum sum) { _mm512_store_si512(tile, sum); }
};

}  // namespace

void MultiplyInt8Avx512Vnni(const Int8Product& product) {
  // 24 sums, 4 registers of weights and one of x.
  int64_t row = 0;
  for (; product.m - row >= 6; row += 6) Int8Rows<Avx512Vnni, 6, 4>(product, row);
  switch (product.m - row) {
    case 1:
      return Int8Rows<Avx512Vnni, 1, 4>(product, row);
    case 2:
      return Int8Rows<Avx512Vnni, 2, 4>(product, row);
    case 3:
      return Int8Rows<Avx512Vnni, 3, 4>(product, row);
    case 4:
      return Int8Rows<Avx512Vnni, 4, 4>(product, row);
    case 5:
      return Int8Rows<Avx512Vnni, 5, 4>(product, row);
    default:
      return;
  }
}

}  // namespace phyllo
