#ifndef PHYLLO_MODEL_OPS_ATTENTION_SOFTMAX_H_
#define PHYLLO_MODEL_OPS_ATTENTION_SOFTMAX_H_

// The softmax of attention, page by page with a running maximum and sum, for kernel sources (see
// simd_vector_v3.h). attention_tile.h says in what order.

#include <cstdint>

#include "model/ops/attention_products.h"
#include "model/ops/simd_kernel_table.h"
#include "model/ops/simd_math.h"

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {

inline constexpr float kInfinity = __builtin_inff();

// The running state of the rows of a tile.
struct Running {
  float max[AttentionTile::kMaxRows];
  float sum[AttentionTile::kMaxRows];
  float rescale[AttentionTile::kMaxRows];
};

// The slots that row r sees of the page that begins at position `page_begin`.
inline Slots VisibleSlots(const AttentionTile& tile, int64_t r, int64_t page_begin) {
  const int64_t begin = tile.begin[r] - page_begin;
  const int64_t end = tile.end[r] - page_begin;
  return {begin < 0 ? 0 : begin, end < tile.page_size ? end : tile.page_size};
}

// -infinity in the lanes of vector c of the page that are not in `slots`.
inline Vec MaskVector(Vec score, Slots slots, int64_t c) {
  const Vec hidden = Set(-kInfinity);
  const int64_t before = slots.begin - c * kLanes;
  const int64_t left = slots.end - c * kLanes;
  if (left < kLanes) score = SelectPrefix(score, hidden, left > 0 ? left : 0);
  if (before > 0) score = SelectPrefix(hidden, score, before < kLanes ? before : kLanes);
  return score;
}

// One page of the head.
template <class Pages>
struct Page {
  int64_t begin;  // the position of its first slot
  Block<typename Pages::Element> keys;
  Block<typename Pages::Element> values;
  const float* key_scales;  // [page_size], of bytes only
  const float* value_scales;
};

template <class Pages>
inline constexpr bool kHasScales = sizeof(typename Pages::Element) == 1;

// Turns the dot products of row r, [vectors * 16], into scores, -infinity outside `slots`, of which
// there is at least one, and returns their maximum.
template <class Pages>
inline float MaskRow(const Page<Pages>& page, Slots slots, int64_t vectors, float soft_cap,
                     float* scores) {
  Vec max = Set(-kInfinity);
  if (!kHasScales<Pages> && soft_cap == 0.0f && slots.begin == 0 && slots.end == vectors * kLanes) {
    for (int64_t c = 0; c < vectors; ++c) max = Max(max, Load(scores + c * kLanes));
    return ReduceMax(max);
  }
  for (int64_t c = 0; c < vectors; ++c) {
    Vec score = Load(scores + c * kLanes);
    if constexpr (kHasScales<Pages>) score = Mul(score, Load(page.key_scales + c * kLanes));
    if (soft_cap > 0.0f) score = SoftCap(score, Set(soft_cap));
    score = MaskVector(score, slots, c);
    Store(scores + c * kLanes, score);
    max = Max(max, score);
  }
  return ReduceMax(max);
}

// Turns scores into weights e^(score - max), times the scales of the values, as factors, and
// returns the sum of those without the scales.
template <class Pages>
inline float WeightRow(const Page<Pages>& page, int64_t vectors, float max, float* scores) {
  const Vec shift = Set(max);
  Vec sum = Zero();
  for (int64_t c = 0; c < vectors; ++c) {
    Vec weight = Exp(Sub(Load(scores + c * kLanes), shift));
    sum = Add(sum, weight);
    if constexpr (kHasScales<Pages>) weight = Mul(weight, Load(page.value_scales + c * kLanes));
    Pages::StoreFactors(scores, c, weight);
  }
  return ReduceSum(sum);
}

// The dot products of rows [r, r + R), [R, page_size], become weights, and their running values
// those with this page.
template <class Pages, int R>
inline void SoftmaxRows(const AttentionTile& tile, int64_t r, const Page<Pages>& page,
                        int64_t vectors, float* scores, Running& running) {
  static_assert(R <= kLanes);
  float rescale[kLanes] = {};
  for (int i = 0; i < R; ++i) {
    const Slots slots = VisibleSlots(tile, r + i, page.begin);
    const float page_max =
        MaskRow(page, slots, vectors, tile.soft_cap, scores + i * tile.page_size);
    const float old_max = running.max[r + i];
    running.max[r + i] = page_max > old_max ? page_max : old_max;
    rescale[i] = old_max - running.max[r + i];
  }
  Store(rescale, Exp(Load(rescale)));
  for (int i = 0; i < R; ++i) {
    const float sum = WeightRow(page, vectors, running.max[r + i], scores + i * tile.page_size);
    running.sum[r + i] = running.sum[r + i] * rescale[i] + sum;
    running.rescale[r + i] = rescale[i];
  }
}

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_ATTENTION_SOFTMAX_H_
