#include "model/onednn/bf16_kernel.h"

#include <immintrin.h>

#include <cstdint>

// Invariant (determinism): acc = fma(x, w, acc) for k = 0, 1, ... is all that ever happens to an
// element, whatever register tile it lies in.

namespace phyllo {
namespace {

constexpr int64_t kPanel = Bf16Product::kPanel;
constexpr int64_t kLanes = 8;  // columns of a register

// Elements between the rows of x in the scratch: not a power of two, which would put rows into the
// same cache sets.
constexpr int64_t kWideStride = Bf16Product::kMaxK + 16;

// The rows of x as floats, [m, k] with stride kWideStride.
void Widen(const Bf16Product& product, float* wide) {
  for (int64_t i = 0; i < product.m; ++i) {
    const uint16_t* const from = product.x + i * product.x_stride;
    float* const to = wide + i * kWideStride;
    int64_t j = 0;
    for (; j + kLanes <= product.k; j += kLanes) {
      const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j));
      const __m256i widened = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
      _mm256_storeu_ps(to + j, _mm256_castsi256_ps(widened));
    }
    for (; j < product.k; ++j) {
      const __m128i bits = _mm_cvtsi32_si128(static_cast<int>(uint32_t{from[j]} << 16));
      to[j] = _mm_cvtss_f32(_mm_castsi128_ps(bits));
    }
  }
}

// The unrolling of the loops over rows and registers is what puts the sums into registers.
#define PHYLLO_UNROLL _Pragma("GCC unroll 8")

// R rows of C registers of columns: wide [R, k], panel and tile [R, ...] at their first column.
template <int R, int C>
inline void RegisterTile(const float* wide, const uint16_t* panel, int64_t k, bool add,
                         float* tile) {
  __m256 sums[R][C];
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) {
      sums[r][c] = add ? _mm256_loadu_ps(tile + r * kPanel + c * kLanes) : _mm256_setzero_ps();
    }
  }
  const __m256i upper_half = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  for (int64_t i = 0; i < k; i += 2) {
    __m256i pairs[C];
    __m256 weights[C];
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) {
      pairs[c] =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel + i * kPanel + c * 2 * kLanes));
      weights[c] = _mm256_castsi256_ps(_mm256_slli_epi32(pairs[c], 16));
    }
    PHYLLO_UNROLL
    for (int r = 0; r < R; ++r) {
      const __m256 x = _mm256_broadcast_ss(wide + r * kWideStride + i);
      PHYLLO_UNROLL
      for (int c = 0; c < C; ++c) sums[r][c] = _mm256_fmadd_ps(x, weights[c], sums[r][c]);
    }
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c)
      weights[c] = _mm256_castsi256_ps(_mm256_and_si256(pairs[c], upper_half));
    PHYLLO_UNROLL
    for (int r = 0; r < R; ++r) {
      const __m256 x = _mm256_broadcast_ss(wide + r * kWideStride + i + 1);
      PHYLLO_UNROLL
      for (int c = 0; c < C; ++c) sums[r][c] = _mm256_fmadd_ps(x, weights[c], sums[r][c]);
    }
  }
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) _mm256_storeu_ps(tile + r * kPanel + c * kLanes, sums[r][c]);
  }
}

#undef PHYLLO_UNROLL

// R rows of a whole panel.
template <int R, int C>
void Rows(const float* wide, const Bf16Product& product, float* tile) {
  for (int64_t column = 0; column < kPanel; column += C * kLanes)
    RegisterTile<R, C>(wide, product.panel + 2 * column, product.k, product.add, tile + column);
}

}  // namespace

void MultiplyBf16(const Bf16Product& product, void* scratch) {
  float* wide = static_cast<float*>(scratch);
  Widen(product, wide);
  float* tile = product.tile;
  // Eight sums keep both multipliers busy (latency 4); with twelve GCC runs out of registers. One
  // row reads a panel as it lies in memory.
  constexpr int64_t kRows = 4;
  int64_t rows = product.m;
  for (; rows >= kRows; rows -= kRows) {
    Rows<kRows, 2>(wide, product, tile);
    wide += kRows * kWideStride;
    tile += kRows * kPanel;
  }
  switch (rows) {
    case 1:
      return Rows<1, 8>(wide, product, tile);
    case 2:
      return Rows<2, 4>(wide, product, tile);
    case 3:
      return Rows<3, 2>(wide, product, tile);
    default:
      return;
  }
}

}  // namespace phyllo
