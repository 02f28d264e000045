#ifndef PHYLLO_MODEL_OPS_SIMD_VECTOR_V3_H_
#define PHYLLO_MODEL_OPS_SIMD_VECTOR_V3_H_

// Sixteen floats in two AVX2 registers: what a kernel is written in. Kernel sources of model/ops
// are compiled once with this header and once with simd_vector_v4.h (PHYLLO_SIMD_VECTOR_HEADER of
// the build target), each into a namespace of its own, so that no function compiled for a wider
// instruction set is ever linked in the place of a narrower one. For the same reason they use no
// inline function of the standard library. Every operation gives the same bits in both.

#include <immintrin.h>

#include <cstdint>

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {

struct Vec {
  __m256 lo, hi;  // lanes 0 to 7, 8 to 15
};
// Rows and, for so many, vectors of a register tile: 16 registers, many sums at once.
inline constexpr int kRowBlock = 6;
inline constexpr int ColumnBlock(int rows) { return rows > 2 ? 1 : 4 / rows; }
// Asks for the cache line at p.
inline void Fetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
inline Vec Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Vec Set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Vec Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void Store(float* p, Vec a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}

// The first `count` (0 to 16) elements; the other lanes are 0 and their memory is not touched.
inline Vec LoadPrefix(const float* p, int64_t count) {
  float lanes[16] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return Load(lanes);
}
inline void StorePrefix(float* p, Vec a, int64_t count) {
  float lanes[16];
  Store(lanes, a);
  for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}

// a in the first `count` lanes, b in the others.
inline Vec SelectPrefix(Vec a, Vec b, int64_t count) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(count));
  const __m256 lo = _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, lane));
  const __m256 hi =
      _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, _mm256_add_epi32(lane, _mm256_set1_epi32(8))));
  return {_mm256_blendv_ps(b.lo, a.lo, lo), _mm256_blendv_ps(b.hi, a.hi, hi)};
}

inline Vec Add(Vec a, Vec b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline Vec Sub(Vec a, Vec b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline Vec Mul(Vec a, Vec b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Vec Div(Vec a, Vec b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
// a * b + c and c - a * b, rounded once.
inline Vec MulAdd(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Vec NegMulAdd(Vec a, Vec b, Vec c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
// b where one of the two is NaN.
inline Vec Max(Vec a, Vec b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Vec Min(Vec a, Vec b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline Vec Abs(Vec a) {
  const __m256 mask = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  return {_mm256_and_ps(a.lo, mask), _mm256_and_ps(a.hi, mask)};
}
inline Vec RoundToInteger(Vec a) {
  return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// x where a < b (false for NaN), else y.
inline Vec SelectLess(Vec a, Vec b, Vec x, Vec y) {
  return {_mm256_blendv_ps(y.lo, x.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
          _mm256_blendv_ps(y.hi, x.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}
inline bool AnyNan(Vec a) {
  return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q),
                                         _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q))) != 0;
}

// The larger of max and |a| by their bit patterns, max being a result of this or 0: above infinity
// comes NaN, so that one NaN stays to the end.
inline Vec MaxMagnitude(Vec max, Vec a) {
  const Vec b = Abs(a);
  return {
      _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(max.lo), _mm256_castps_si256(b.lo))),
      _mm256_castsi256_ps(
          _mm256_max_epi32(_mm256_castps_si256(max.hi), _mm256_castps_si256(b.hi)))};
}

inline __m256 ScaleByPowerOfTwo(__m256 a, __m256 n) {
  const __m256i exponent = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(exponent, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(exponent, half), bias), 23);
  return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}
// a * 2^n for integers -252 <= n <= 254, in two steps, so that the result may be subnormal or
// infinite.
inline Vec ScaleByPowerOfTwo(Vec a, Vec n) {
  return {ScaleByPowerOfTwo(a.lo, n.lo), ScaleByPowerOfTwo(a.hi, n.hi)};
}

// The sum (maximum) of the lanes: halves onto each other, 16, 8, 4, 2, 1.
inline float ReduceSum(Vec a) {
  const __m256 eight = _mm256_add_ps(a.lo, a.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float ReduceMax(Vec a) {
  const __m256 eight = _mm256_max_ps(a.lo, a.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// Rounds to nearest even; the result lies in the lower half of each 32-bit lane. A NaN becomes the
// quiet NaN of its sign and upper bits.
inline __m256i NarrowToBf16(__m256 a) {
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i lsb = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  return _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)));
}

// bfloat16 in memory, rounded to nearest even.
inline void Store(uint16_t* p, Vec a) {
  // Interleaves the 128-bit halves.
  const __m256i packed = _mm256_packus_epi32(NarrowToBf16(a.lo), NarrowToBf16(a.hi));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}
inline void StorePrefix(uint16_t* p, Vec a, int64_t count) {
  uint16_t lanes[16];
  Store(lanes, a);
  for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}
template <int kPart>
inline __m256 WidenOfPairs(__m256i pairs) {
  if constexpr (kPart == 0) return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(~0xffff)));
}
// The first (kPart 0) or second bfloat16 of sixteen pairs in memory, of `count` pairs, widened.
template <int kPart>
inline Vec LoadOfPairs(const uint16_t* p) {
  return {WidenOfPairs<kPart>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
          WidenOfPairs<kPart>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 16)))};
}
template <int kPart>
inline Vec LoadPrefixOfPairs(const uint16_t* p, int64_t count) {
  uint16_t pairs[32] = {};
  for (int64_t i = 0; i < 2 * count; ++i) pairs[i] = p[i];
  return LoadOfPairs<kPart>(pairs);
}

// Signed bytes in memory, widened exactly.
inline Vec Load(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)))};
}
inline Vec LoadPrefix(const int8_t* p, int64_t count) {
  int8_t lanes[16] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return Load(lanes);
}

// To the nearest integers, ties to even, limited to signed bytes; -128 for a NaN.
inline __m128i NarrowToBytes(Vec a) {
  // Interleaves the 128-bit halves.
  const __m256i packed = _mm256_packs_epi32(_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi));
  const __m256i words = _mm256_permute4x64_epi64(packed, 0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

// Bytes with an offset in memory: 128 plus the integer. Requires integers -128 to 127.
inline void Store(uint8_t* p, Vec a) {
  const __m128i offset = _mm_set1_epi8(static_cast<char>(0x80));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_xor_si128(NarrowToBytes(a), offset));
}
inline void StorePrefix(uint8_t* p, Vec a, int64_t count) {
  uint8_t lanes[16];
  Store(lanes, a);
  for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_SIMD_VECTOR_V3_H_
