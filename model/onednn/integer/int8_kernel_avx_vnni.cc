#include <immintrin.h>

#include <cstdint>

#include "model/onednn/integer/int8_kernel.h"
#include "model/onednn/integer/int8_register_tile.h"

namespace phyllo {
namespace {

struct AvxVnni {
  static constexpr int kLanes = 8;
  using Sum = __m256i;
  using Weights = __m256i;
  using Input = __m256i;

  static Weights Prepare(const int8_t* panel) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(panel));
  }
  static Input Broadcast(const uint8_t* x) {
    return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(x)));
  }
  static Sum Dot(Sum sum, Input x, Weights w) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
  static Sum Zero() { return _mm256_setzero_si256(); }
  static Sum Load(const int32_t* tile) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(tile));
  }
  static void Store(int32_t* tile, Sum sum) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(tile), sum);
  }
};

}  // namespace

void MultiplyInt8AvxVnni(const Int8Product& product) {
  int64_t row = 0;
  for (; product.m - row >= 6; row += 6) Int8Rows<AvxVnni, 6, 2>(product, row);
  switch (product.m - row) {
    case 1:
      return Int8Rows<AvxVnni, 1, 8>(product, row);
    case 2:
      return Int8Rows<AvxVnni, 2, 4>(product, row);
    case 3:
      return Int8Rows<AvxVnni, 3, 4>(product, row);
    case 4:
      return Int8Rows<AvxVnni, 4, 2>(product, row);
    case 5:
      return Int8Rows<AvxVnni, 5, 2>(product, row);
    default:
      return;
  }
}

}  // namespace phyllo
