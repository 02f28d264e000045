// Attention in f32 over pages of every precision, compiled once per instruction set (see
// simd_vector_v3.h).
#include <cstddef>
#include <cstdint>

#include "model/ops/attention_products.h"
#include "model/ops/attention_tile.h"
#include "model/ops/simd_kernel_table.h"
#include "model/ops/simd_math.h"

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {
namespace {

// What pages that are multiplied in f32 share: the factors are floats as they are.
template <int kStep>
struct F32Factors {
  using Operand = Vec;
  static constexpr int kPerStep = kStep;
  static constexpr int kParts = kStep;

  template <int kPart>
  static Vec Broadcast(const float* row, int64_t step) {
    return Set(row[step * kStep + kPart]);
  }
  static Vec MulAdd(Vec factor, Vec operand, Vec sum) {
    return PHYLLO_SIMD_NAMESPACE::MulAdd(factor, operand, sum);
  }
  static void PrepareRow(float* /*row*/, int64_t /*count*/) {}
  static void StoreFactors(float* row, int64_t c, Vec weights) { Store(row + c * kLanes, weights); }
};

// Floats or signed bytes.
template <typename T>
struct PlainPages : F32Factors<1> {
  using Element = T;

  template <int kPart>
  static Vec Read(const T* p) {
    return Load(p);
  }
  template <int kPart>
  static Vec ReadPrefix(const T* p, int64_t count) {
    return LoadPrefix(p, count);
  }
};

// Pairs of bf16, widened.
struct Bf16Pages : F32Factors<2> {
  using Element = uint16_t;

  template <int kPart>
  static Vec Read(const uint16_t* p) {
    return LoadOfPairs<kPart>(p);
  }
  template <int kPart>
  static Vec ReadPrefix(const uint16_t* p, int64_t count) {
    return LoadPrefixOfPairs<kPart>(p, count);
  }
};

}  // namespace

void AttendTileF32(const AttentionTile& tile) { AttendTile<PlainPages<float>>(tile); }
void AttendTileBf16(const AttentionTile& tile) { AttendTile<Bf16Pages>(tile); }
void AttendTileInt8(const AttentionTile& tile) { AttendTile<PlainPages<int8_t>>(tile); }

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo
