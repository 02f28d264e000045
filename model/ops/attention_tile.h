#ifndef PHYLLO_MODEL_OPS_ATTENTION_TILE_H_
#define PHYLLO_MODEL_OPS_ATTENTION_TILE_H_

// One tile of attention over Pages (attention_products.h), for kernel sources.
//
// Invariants (determinism): for a query row, in this order, whatever the other rows of the tile
// are:
// - the score of key j is one chain of MulAdd over hd in ascending order, starting from 0, and
//   then, if keys are bytes, times the key's scale;
// - pages, cut from position 0 on, are visited in order from the one that holds the first key the
//   row sees; of a page, the maximum over all its visible keys is taken first, then the running
//   values are rescaled by exp(old maximum - new maximum), then e^(score - maximum) is summed by
//   chunks of sixteen keys and one tree;
// - out[c] is one chain of MulAdd over the keys in ascending order, through all pages, of the
//   weight e^(score - maximum), times the value's scale if it is of bytes, and the value. Of a step
//   of two keys of which the row sees one, it always takes Only that one.
// Rows share loads only. A key that a row does not see is masked out of its maximum and sum, and
// its value is not read into its out at all: a product 0 * NaN would not be 0.
#include <cstddef>
#include <cstdint>

#include "model/ops/attention_products.h"
#include "model/ops/attention_softmax.h"
#include "model/ops/simd_kernel_table.h"
#include "model/ops/simd_math.h"

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {

// Floats of a row of tile.q and tile.out.
inline int64_t RowStride(const AttentionTile& tile) {
  return (tile.head_dim + kLanes - 1) / kLanes * kLanes;
}

// Rows [r, r + R) of the page: scores, weights and the update of out. Each sees a key of it.
template <int R, class Pages>
inline void RowBlock(const AttentionTile& tile, int64_t r, const Page<Pages>& page,
                     Running& running) {
  constexpr int64_t kPerStep = Pages::kPerStep;
  const int64_t stride = RowStride(tile);
  float* const scores = tile.scores + r * tile.page_size;
  float* const out = tile.out + r * stride;
  // What the last row sees decides how many scores are needed. Slots [common.begin, common.end) are
  // seen by all rows, whole steps from where the last row begins to where the first one ends.
  const Slots first = VisibleSlots(tile, r, page.begin);
  const Slots last = VisibleSlots(tile, r + R - 1, page.begin);
  const int64_t vectors = (last.end + kLanes - 1) / kLanes;
  const int64_t common_begin = (last.begin + kPerStep - 1) / kPerStep * kPerStep;
  const int64_t common_end = first.end / kPerStep * kPerStep;
  const Slots common = {common_begin, common_end > common_begin ? common_end : common_begin};
  ScoreRows<Pages, R>({tile.q + r * stride, stride}, page.keys, tile.head_dim, tile.page_size,
                      vectors, scores);
  SoftmaxRows<Pages, R>(tile, r, page, vectors, scores, running);
  const auto value_row = [&](int i, Slots slots, const float* rescale) {
    if (slots.begin >= slots.end) return false;
    ValueRows<Pages, 1>({scores + i * tile.page_size, tile.page_size}, page.values, tile.head_dim,
                        slots, rescale, stride, out + i * stride);
    return true;
  };
  for (int i = 0; i < R; ++i) {
    const Slots slots = VisibleSlots(tile, r + i, page.begin);
    const int64_t end = slots.end < common.begin ? slots.end : common.begin;
    if (value_row(i, {slots.begin, end}, running.rescale + r + i)) running.rescale[r + i] = 1.0f;
  }
  ValueRows<Pages, R>({scores, tile.page_size}, page.values, tile.head_dim, common,
                      running.rescale + r, stride, out);
  for (int i = 0; i < R; ++i) {
    const Slots slots = VisibleSlots(tile, r + i, page.begin);
    value_row(i, {slots.begin > common.end ? slots.begin : common.end, slots.end}, nullptr);
  }
}

// Rows [r, end) of the page, R at a time and the rest in one block.
template <int R, class Pages>
inline void RowBlocks(const AttentionTile& tile, int64_t r, int64_t end, Page<Pages> page,
                      Running& running) {
  for (; r + R <= end; r += R) {
    RowBlock<R>(tile, r, page, running);
    page.keys.next = page.values.next = nullptr;  // the next page has been fetched
  }
  if constexpr (R > 1) {
    if (r < end) RowBlocks<R - 1>(tile, r, end, page, running);
  }
}

// Page `index` of the tile's page table; fetches the one after it if it has one.
template <class Pages>
inline Page<Pages> PageAt(const AttentionTile& tile, int64_t index, bool has_next) {
  using Element = typename Pages::Element;
  const int64_t offset = tile.page_table[index] * tile.page_stride;
  const int64_t next_offset = has_next ? tile.page_table[index + 1] * tile.page_stride : 0;
  const auto block = [&](const std::byte* page_0) {
    return Block<Element>{
        reinterpret_cast<const Element*>(page_0 + offset),
        has_next ? reinterpret_cast<const Element*>(page_0 + next_offset) : nullptr};
  };
  Page<Pages> page = {index * tile.page_size, block(tile.keys), block(tile.values), nullptr,
                      nullptr};
  if constexpr (kHasScales<Pages>) {
    page.key_scales = reinterpret_cast<const float*>(tile.key_scales + offset);
    page.value_scales = reinterpret_cast<const float*>(tile.value_scales + offset);
  }
  return page;
}

template <class Pages>
void AttendTile(const AttentionTile& tile) {
  const int64_t stride = RowStride(tile);
  Running running;
  for (int64_t r = 0; r < tile.rows; ++r) {
    Pages::PrepareRow(tile.q + r * stride, stride);
    running.max[r] = -kInfinity;
    running.sum[r] = 0.0f;
  }
  for (int64_t i = 0; i < tile.rows * stride; i += kLanes) Store(tile.out + i, Zero());

  int64_t first_row = 0;  // rows before it see no key of this page or a later one
  int64_t end_row = 0;    // rows from it on see no key of this page or an earlier one
  for (int64_t page = tile.begin[0] / tile.page_size;
       page * tile.page_size < tile.end[tile.rows - 1]; ++page) {
    const int64_t page_begin = page * tile.page_size;
    while (tile.end[first_row] <= page_begin) ++first_row;
    while (end_row < tile.rows && tile.begin[end_row] < page_begin + tile.page_size) ++end_row;
    const bool has_next = page_begin + tile.page_size < tile.end[tile.rows - 1];
    RowBlocks<kRowBlock>(tile, first_row, end_row, PageAt<Pages>(tile, page, has_next), running);
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    const Vec sum = Set(running.sum[r]);
    for (int64_t c = 0; c < stride; c += kLanes)
      Store(tile.out + r * stride + c, Div(Load(tile.out + r * stride + c), sum));
  }
}

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_ATTENTION_TILE_H_
