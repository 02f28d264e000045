// Attention over pages of bf16 with the dot products of AVX-512 BF16: queries and weights are
// rounded to bf16, the sums are in f32. VDPBF16PS takes subnormal numbers as 0.
#include <immintrin.h>

#include <cstdint>

#include "model/ops/attention_products.h"
#include "model/ops/attention_tile.h"
#include "model/ops/simd_kernel_table.h"
#include "model/ops/simd_math.h"

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {
namespace {

struct Bf16PairPages {
  using Element = uint16_t;
  using Operand = __m512i;
  static constexpr int kPerStep = 2;
  static constexpr int kParts = 1;

  template <int kPart>
  static Operand Read(const uint16_t* p) {
    return _mm512_loadu_si512(p);
  }
  template <int kPart>
  static Operand ReadPrefix(const uint16_t* p, int64_t count) {
    return _mm512_maskz_loadu_epi32(PrefixMask(count), p);
  }
  template <StepKeys kKeys>
  static Operand Only(Operand pairs) {
    constexpr int kMask = kKeys == StepKeys::kFirst ? 0xffff : ~0xffff;
    return _mm512_and_si512(pairs, _mm512_set1_epi32(kMask));
  }
  template <int kPart>
  static Operand Broadcast(const float* row, int64_t step) {
    return _mm512_castps_si512(_mm512_set1_ps(row[step]));
  }
  static Vec MulAdd(Operand factors, Operand operand, Vec sum) {
    return {_mm512_dpbf16_ps(sum.v, reinterpret_cast<__m512bh>(factors),
                             reinterpret_cast<__m512bh>(operand))};
  }
  static void PrepareRow(float* row, int64_t count) {
    for (int64_t c = 0; c < count / kLanes; ++c) StoreFactors(row, c, Load(row + c * kLanes));
  }
  static void StoreFactors(float* row, int64_t c, Vec weights) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row) + c,
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(weights.v)));
  }
};

}  // namespace

void AttendTileBf16(const AttentionTile& tile) { AttendTile<Bf16PairPages>(tile); }

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo
