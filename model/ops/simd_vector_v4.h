#ifndef PHYLLO_MODEL_OPS_SIMD_VECTOR_V4_H_
#define PHYLLO_MODEL_OPS_SIMD_VECTOR_V4_H_

// Sixteen floats in one AVX-512 register. Same interface and, lane by lane, same results as
// simd_vector_v3.h, which documents it. A kernel source includes the one its build target names in
// PHYLLO_SIMD_VECTOR_HEADER.

#include <immintrin.h>

#include <cstdint>

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {

struct Vec {
  __m512 v;
};

inline constexpr int kRowBlock = 8;
inline constexpr int ColumnBlock(int rows) { return rows > 4 ? 2 : 4; }

inline __mmask16 PrefixMask(int64_t count) { return static_cast<__mmask16>((1u << count) - 1u); }

inline void Fetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

inline Vec Zero() { return {_mm512_setzero_ps()}; }
inline Vec Set(float x) { return {_mm512_set1_ps(x)}; }
inline Vec Load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void Store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }
inline Vec LoadPrefix(const float* p, int64_t count) {
  return {_mm512_maskz_loadu_ps(PrefixMask(count), p)};
}
inline void StorePrefix(float* p, Vec a, int64_t count) {
  _mm512_mask_storeu_ps(p, PrefixMask(count), a.v);
}
inline Vec SelectPrefix(Vec a, Vec b, int64_t count) {
  return {_mm512_mask_blend_ps(PrefixMask(count), b.v, a.v)};
}

inline Vec Add(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Vec Sub(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Vec Mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Vec Div(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Vec NegMulAdd(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
inline Vec Max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Vec Min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Vec Abs(Vec a) { return {_mm512_abs_ps(a.v)}; }
inline Vec RoundToInteger(Vec a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline Vec SelectLess(Vec a, Vec b, Vec x, Vec y) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
}
inline bool AnyNan(Vec a) { return _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q) != 0; }

inline Vec MaxMagnitude(Vec max, Vec a) {
  return {_mm512_castsi512_ps(
      _mm512_max_epi32(_mm512_castps_si512(max.v), _mm512_castps_si512(Abs(a).v)))};
}

inline Vec ScaleByPowerOfTwo(Vec a, Vec n) { return {_mm512_scalef_ps(a.v, n.v)}; }

inline float ReduceSum(Vec a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float ReduceMax(Vec a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// To nearest even; a NaN becomes the quiet NaN of its sign and upper bits.
inline __m256i NarrowToBf16(Vec a) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i lsb = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_srli_epi32(
      _mm512_add_epi32(bits, _mm512_add_epi32(lsb, _mm512_set1_epi32(0x7fff))), 16);
  const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(nan, rounded, quiet));
}

inline void Store(uint16_t* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), NarrowToBf16(a));
}
inline void StorePrefix(uint16_t* p, Vec a, int64_t count) {
  _mm256_mask_storeu_epi16(p, PrefixMask(count), NarrowToBf16(a));
}

template <int kPart>
inline Vec WidenOfPairs(__m512i pairs) {
  if constexpr (kPart == 0) return {_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16))};
  return {_mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(~0xffff)))};
}
template <int kPart>
inline Vec LoadOfPairs(const uint16_t* p) {
  return WidenOfPairs<kPart>(_mm512_loadu_si512(p));
}
template <int kPart>
inline Vec LoadPrefixOfPairs(const uint16_t* p, int64_t count) {
  return WidenOfPairs<kPart>(_mm512_maskz_loadu_epi32(PrefixMask(count), p));
}

inline Vec Load(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}
inline Vec LoadPrefix(const int8_t* p, int64_t count) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(PrefixMask(count), p)))};
}

inline __m128i NarrowToBytes(Vec a) { return _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(a.v)); }

inline __m128i NarrowToOffsetBytes(Vec a) {
  return _mm_xor_si128(NarrowToBytes(a), _mm_set1_epi8(static_cast<char>(0x80)));
}
inline void Store(uint8_t* p, Vec a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), NarrowToOffsetBytes(a));
}
inline void StorePrefix(uint8_t* p, Vec a, int64_t count) {
  _mm_mask_storeu_epi8(p, PrefixMask(count), NarrowToOffsetBytes(a));
}

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_SIMD_VECTOR_V4_H_
