// The four bits of a weight become the upper four of a signed byte, 16 * q; the sum over a group is
// therefore divided by 16, exactly, before it is multiplied by the group's multiplier.
#include <immintrin.h>

#include <cstdint>

#include "model/onednn/integer/int4_kernel.h"
#include "model/onednn/integer/int4_layout.h"

namespace phyllo {
namespace {

// Bytes between what is read and what is prefetched: farther is slower.
constexpr int64_t kAhead = 2048;

#define PHYLLO_UNROLL _Pragma("GCC unroll 8")

inline __m512i Broadcast(const uint8_t* x) {
  return _mm512_castps_si512(_mm512_broadcastss_ps(_mm_load_ss(reinterpret_cast<const float*>(x))));
}

// The multipliers of 16 columns in 32-bit lanes.
inline __m512i Multipliers(const uint8_t* bytes, int group) {
  const __m512i wide =
      _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  return group == 0 ? _mm512_and_si512(wide, _mm512_set1_epi32(15)) : _mm512_srli_epi32(wide, 4);
}

// Adds one group of 32 columns to totals [M, 2]: x [M, 32], weights [4, 2, 64 bytes].
template <int M>
inline void AddGroup(const uint8_t* x, int64_t x_stride, const uint8_t* weights,
                     const __m512i (&multipliers)[2], __m512i (&totals)[M][2]) {
  const __m512i upper_four = _mm512_set1_epi8(static_cast<char>(0xf0));
  __m512i sums[M][2];
  PHYLLO_UNROLL
  for (int m = 0; m < M; ++m) sums[m][0] = sums[m][1] = _mm512_setzero_si512();
  PHYLLO_UNROLL
  for (int eight = 0; eight < 4; ++eight, weights += 128) {
    __m512i low[2], high[2];
    PHYLLO_UNROLL
    for (int c = 0; c < 2; ++c) {
      _mm_prefetch(reinterpret_cast<const char*>(weights + c * 64 + kAhead), _MM_HINT_T0);
      const __m512i both = _mm512_load_si512(weights + c * 64);
      low[c] = _mm512_and_si512(_mm512_slli_epi16(both, 4), upper_four);
      high[c] = _mm512_and_si512(both, upper_four);
    }
    PHYLLO_UNROLL
    for (int m = 0; m < M; ++m) {
      const uint8_t* const from = x + m * x_stride + eight * 8;
      const __m512i x_low = Broadcast(from);
      const __m512i x_high = Broadcast(from + 4);
      PHYLLO_UNROLL
      for (int c = 0; c < 2; ++c) {
        sums[m][c] = _mm512_dpbusd_epi32(sums[m][c], x_low, low[c]);
        sums[m][c] = _mm512_dpbusd_epi32(sums[m][c], x_high, high[c]);
      }
    }
  }
  PHYLLO_UNROLL
  for (int m = 0; m < M; ++m) {
    PHYLLO_UNROLL
    for (int c = 0; c < 2; ++c) {
      const __m512i sum = _mm512_mullo_epi32(_mm512_srai_epi32(sums[m][c], 4), multipliers[c]);
      totals[m][c] = _mm512_add_epi32(totals[m][c], sum);
    }
  }
}

template <int M>
void Rows(const Int4Product& product) {
  __m512i totals[2][M][2];
  PHYLLO_UNROLL
  for (int half = 0; half < 2; ++half) {
    PHYLLO_UNROLL
    for (int m = 0; m < M; ++m) totals[half][m][0] = totals[half][m][1] = _mm512_setzero_si512();
  }
  const uint8_t* x = product.x;
  const uint8_t* block = product.panel;
  for (int64_t k = 0; k < product.k; k += Int4Layout::kBlock, block += Int4Layout::kBlockBytes) {
    const uint8_t* weights = block + Int4Layout::kPanel;
    _mm_prefetch(reinterpret_cast<const char*>(block + kAhead), _MM_HINT_T0);
    PHYLLO_UNROLL
    for (int group = 0; group < 2; ++group, x += Int4Layout::kGroup) {
      PHYLLO_UNROLL
      for (int half = 0; half < 2; ++half, weights += Int4Layout::kHalfBytes) {
        const __m512i multipliers[2] = {Multipliers(block + half * 32, group),
                                        Multipliers(block + half * 32 + 16, group)};
        AddGroup<M>(x, product.x_stride, weights, multipliers, totals[half]);
      }
    }
  }
  PHYLLO_UNROLL
  for (int m = 0; m < M; ++m) {
    PHYLLO_UNROLL
    for (int c = 0; c < 4; ++c)
      _mm512_store_si512(product.tile + m * Int4Layout::kPanel + c * 16, totals[c / 2][m][c % 2]);
  }
}

#undef PHYLLO_UNROLL

}  // namespace

void MultiplyInt4Avx512Vnni(const Int4Product& product) {
  switch (product.m) {
    case 1:
      return Rows<1>(product);
    case 2:
      return Rows<2>(product);
    case 3:
      return Rows<3>(product);
    default:
      return Rows<4>(product);
  }
}

}  // namespace phyllo
