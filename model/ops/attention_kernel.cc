// One tile of attention, compiled once per instruction set (see simd_vector_v3.h).
//
// Invariants (determinism): for a query row, in this order, whatever the other rows of the tile
// are:
// - the score of key j is one fused chain over hd in ascending order, starting from 0, and then, if
//   keys are bytes, times the key's scale;
// - pages, cut from position 0 on, are visited in order from the one that holds the first key the
//   row sees; of a page, the maximum over all its visible keys is taken first, then the running
//   values are rescaled by exp(old maximum - new maximum), then e^(score - maximum) is summed by
//   chunks of sixteen keys and one tree;
// - out[c] is one fused chain over the keys in ascending order, through all pages, of e^(score -
//   maximum), times the value's scale if it is of bytes, and the value.
// Rows share loads only. A key that a row does not see is masked out of its maximum and sum, and
// its value is not read into its out at all: a product 0 * NaN would not be 0.
#include <cstddef>
#include <cstdint>

#include "model/ops/simd_kernel_table.h"
#include "model/ops/simd_math.h"

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {
namespace {

constexpr int64_t kLanes = 16;
constexpr float kInfinity = __builtin_inff();

// Keys or values of the head in this page, and what is fetched ahead while they are read: those of
// the next page, or the same again.
template <typename T>
struct Block {
  const T* data;
  const T* next;

  Block operator+(int64_t offset) const { return {data + offset, next + offset}; }
  // Fetches the `count` elements of next at `offset`.
  void FetchNext(int64_t offset, int64_t count) const {
    constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));
    for (int64_t i = 0; i < count; i += kLine) Fetch(next + offset + i);
  }
};

// scores[r][16 c ...] = q[r] . keys[:, 16 c ...] for R rows and C vectors of keys. q [R, hd], keys
// [hd, page_size], scores [R, page_size].
template <int R, int C, typename T>
inline void ScoreBlock(const float* q, Block<T> keys, int64_t head_dim, int64_t page_size,
                       float* scores) {
  Vec sums[R][C];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) sums[r][c] = Zero();
  }
  for (int64_t e = 0; e < head_dim; ++e) {
    Vec key[C];
    for (int c = 0; c < C; ++c) key[c] = Load(keys.data + e * page_size + c * kLanes);
    keys.FetchNext(e * page_size, C * kLanes);
    for (int r = 0; r < R; ++r) {
      const Vec query = Set(q[r * head_dim + e]);
      for (int c = 0; c < C; ++c) sums[r][c] = MulAdd(query, key[c], sums[r][c]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) Store(scores + r * page_size + c * kLanes, sums[r][c]);
  }
}

template <int R, typename T>
inline void ScoreRows(const float* q, Block<T> keys, int64_t head_dim, int64_t page_size,
                      int64_t vectors, float* scores) {
  constexpr int C = ColumnBlock(R);
  int64_t c = 0;
  for (; c + C <= vectors; c += C) {
    ScoreBlock<R, C>(q, keys + c * kLanes, head_dim, page_size, scores + c * kLanes);
  }
  for (; c < vectors; ++c)
    ScoreBlock<R, 1>(q, keys + c * kLanes, head_dim, page_size, scores + c * kLanes);
}

// out[r][...] = out[r][...] * rescale[r] + sum over keys j in [begin, end), ascending, of
// weights[r][j] * values[j][...], for R rows and C vectors, the last of which has `last` lanes of
// the row (16, or less at the end of hd). values [page_size, hd], weights [R, page_size], out [R,
// stride].
template <int R, int C, typename T>
inline void ValueBlock(const float* weights, Block<T> values, int64_t head_dim, int64_t page_size,
                       int64_t begin, int64_t end, int64_t last, const float* rescale,
                       int64_t stride, float* out) {
  Vec sums[R][C];
  for (int r = 0; r < R; ++r) {
    const Vec factor = Set(rescale == nullptr ? 1.0f : rescale[r]);
    for (int c = 0; c < C; ++c) sums[r][c] = Mul(Load(out + r * stride + c * kLanes), factor);
  }
  for (int64_t j = begin; j < end; ++j) {
    Vec value[C];
    for (int c = 0; c + 1 < C; ++c) value[c] = Load(values.data + j * head_dim + c * kLanes);
    const T* const end_of_row = values.data + j * head_dim + (C - 1) * kLanes;
    value[C - 1] = last == kLanes ? Load(end_of_row) : LoadPrefix(end_of_row, last);
    values.FetchNext(j * head_dim, C * kLanes);
    for (int r = 0; r < R; ++r) {
      const Vec weight = Set(weights[r * page_size + j]);
      for (int c = 0; c < C; ++c) sums[r][c] = MulAdd(weight, value[c], sums[r][c]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) Store(out + r * stride + c * kLanes, sums[r][c]);
  }
}

template <int R, typename T>
inline void ValueRows(const float* weights, Block<T> values, int64_t head_dim, int64_t page_size,
                      int64_t begin, int64_t end, const float* rescale, int64_t stride,
                      float* out) {
  constexpr int C = ColumnBlock(R);
  const int64_t whole = head_dim / kLanes;
  int64_t c = 0;
  for (; c + C <= whole; c += C) {
    ValueBlock<R, C>(weights, values + c * kLanes, head_dim, page_size, begin, end, kLanes, rescale,
                     stride, out + c * kLanes);
  }
  for (; c < whole; ++c) {
    ValueBlock<R, 1>(weights, values + c * kLanes, head_dim, page_size, begin, end, kLanes, rescale,
                     stride, out + c * kLanes);
  }
  if (const int64_t last = head_dim - whole * kLanes; last > 0) {
    ValueBlock<R, 1>(weights, values + c * kLanes, head_dim, page_size, begin, end, last, rescale,
                     stride, out + c * kLanes);
  }
}

// The running state of the rows of a tile.
struct Running {
  float max[AttentionTile::kMaxRows];
  float sum[AttentionTile::kMaxRows];
  float rescale[AttentionTile::kMaxRows];
};

// Slots [begin, end) of a page.
struct Slots {
  int64_t begin;
  int64_t end;
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
template <typename T>
struct Page {
  int64_t begin;  // the position of its first slot
  Block<T> keys;
  Block<T> values;
  const float* key_scales;  // [page_size], of bytes only
  const float* value_scales;
};

// Turns the dot products of row r, [vectors * 16], into scores, -infinity outside `slots`, of which
// there is at least one, and returns their maximum.
template <typename T>
inline float MaskRow(const Page<T>& page, Slots slots, int64_t vectors, float soft_cap,
                     float* scores) {
  Vec max = Set(-kInfinity);
  for (int64_t c = 0; c < vectors; ++c) {
    Vec score = Load(scores + c * kLanes);
    if constexpr (sizeof(T) == 1) score = Mul(score, Load(page.key_scales + c * kLanes));
    if (soft_cap > 0.0f) score = SoftCap(score, Set(soft_cap));
    score = MaskVector(score, slots, c);
    Store(scores + c * kLanes, score);
    max = Max(max, score);
  }
  return ReduceMax(max);
}

// Turns scores into weights e^(score - max), times the scales of the values, and returns the sum of
// those without the scales.
template <typename T>
inline float WeightRow(const Page<T>& page, int64_t vectors, float max, float* scores) {
  const Vec shift = Set(max);
  Vec sum = Zero();
  for (int64_t c = 0; c < vectors; ++c) {
    Vec weight = Exp(Sub(Load(scores + c * kLanes), shift));
    sum = Add(sum, weight);
    if constexpr (sizeof(T) == 1) weight = Mul(weight, Load(page.value_scales + c * kLanes));
    Store(scores + c * kLanes, weight);
  }
  return ReduceSum(sum);
}

// The dot products of rows [r, r + R), [R, page_size], become weights, and their running values
// those with this page.
template <int R, typename T>
inline void SoftmaxRows(const AttentionTile& tile, int64_t r, const Page<T>& page, int64_t vectors,
                        float* scores, Running& running) {
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

// Rows [r, r + R) of the page: scores, weights and the update of out. Each sees a key of it.
template <int R, typename T>
inline void RowBlock(const AttentionTile& tile, int64_t r, const Page<T>& page, Running& running) {
  const int64_t stride = (tile.head_dim + kLanes - 1) / kLanes * kLanes;
  float* const scores = tile.scores + r * tile.page_size;
  float* const out = tile.out + r * stride;
  // What the last row sees decides how many scores are needed. Slots [common.begin, common.end) are
  // seen by all rows: from where the last row begins to where the first one ends.
  const Slots first = VisibleSlots(tile, r, page.begin);
  const Slots last = VisibleSlots(tile, r + R - 1, page.begin);
  const int64_t vectors = (last.end + kLanes - 1) / kLanes;
  const Slots common = {last.begin, first.end > last.begin ? first.end : last.begin};
  ScoreRows<R>(tile.q + r * tile.head_dim, page.keys, tile.head_dim, tile.page_size, vectors,
               scores);
  SoftmaxRows<R>(tile, r, page, vectors, scores, running);
  const auto value_row = [&](int i, int64_t begin, int64_t end, const float* rescale) {
    if (begin < end) {
      ValueRows<1>(scores + i * tile.page_size, page.values, tile.head_dim, tile.page_size, begin,
                   end, rescale, stride, out + i * stride);
    }
    return begin < end;
  };
  for (int i = 0; i < R; ++i) {
    const Slots slots = VisibleSlots(tile, r + i, page.begin);
    const int64_t end = slots.end < common.begin ? slots.end : common.begin;
    if (value_row(i, slots.begin, end, running.rescale + r + i)) running.rescale[r + i] = 1.0f;
  }
  ValueRows<R>(scores, page.values, tile.head_dim, tile.page_size, common.begin, common.end,
               running.rescale + r, stride, out);
  for (int i = 1; i < R; ++i) {
    const Slots slots = VisibleSlots(tile, r + i, page.begin);
    value_row(i, slots.begin > common.end ? slots.begin : common.end, slots.end, nullptr);
  }
}

// Rows [r, end) of the page, R at a time and the rest in one block.
template <int R, typename T>
inline void RowBlocks(const AttentionTile& tile, int64_t r, int64_t end, Page<T> page,
                      Running& running) {
  for (; r + R <= end; r += R) {
    RowBlock<R>(tile, r, page, running);
    page.keys.next = page.keys.data;  // the next page has been fetched
    page.values.next = page.values.data;
  }
  if constexpr (R > 1) {
    if (r < end) RowBlocks<R - 1>(tile, r, end, page, running);
  }
}

// Page `index` of the tile's page table, and after it page `next`.
template <typename T>
inline Page<T> PageAt(const AttentionTile& tile, int64_t index, int64_t next) {
  const int64_t offset = tile.page_table[index] * tile.page_stride;
  const int64_t next_offset = tile.page_table[next] * tile.page_stride;
  const auto block = [&](const std::byte* page_0) {
    return Block<T>{reinterpret_cast<const T*>(page_0 + offset),
                    reinterpret_cast<const T*>(page_0 + next_offset)};
  };
  Page<T> page = {index * tile.page_size, block(tile.keys), block(tile.values), nullptr, nullptr};
  if constexpr (sizeof(T) == 1) {
    page.key_scales = reinterpret_cast<const float*>(tile.key_scales + offset);
    page.value_scales = reinterpret_cast<const float*>(tile.value_scales + offset);
  }
  return page;
}

template <typename T>
void AttendTile(const AttentionTile& tile) {
  Running running;
  for (int64_t r = 0; r < tile.rows; ++r) {
    running.max[r] = -kInfinity;
    running.sum[r] = 0.0f;
  }
  const int64_t stride = (tile.head_dim + kLanes - 1) / kLanes * kLanes;
  for (int64_t i = 0; i < tile.rows * stride; i += kLanes) Store(tile.out + i, Zero());

  int64_t first_row = 0;  // rows before it see no key of this page or a later one
  int64_t end_row = 0;    // rows from it on see no key of this page or an earlier one
  for (int64_t page = tile.begin[0] / tile.page_size;
       page * tile.page_size < tile.end[tile.rows - 1]; ++page) {
    const int64_t page_begin = page * tile.page_size;
    while (tile.end[first_row] <= page_begin) ++first_row;
    while (end_row < tile.rows && tile.begin[end_row] < page_begin + tile.page_size) ++end_row;
    const bool is_last = page_begin + tile.page_size >= tile.end[tile.rows - 1];
    RowBlocks<kRowBlock>(tile, first_row, end_row, PageAt<T>(tile, page, is_last ? page : page + 1),
                         running);
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    const Vec sum = Set(running.sum[r]);
    for (int64_t c = 0; c < stride; c += kLanes)
      Store(tile.out + r * stride + c, Div(Load(tile.out + r * stride + c), sum));
  }
}

}  // namespace

void AttendTileF32(const AttentionTile& tile) { AttendTile<float>(tile); }
void AttendTileBf16(const AttentionTile& tile) { AttendTile<uint16_t>(tile); }
void AttendTileInt8(const AttentionTile& tile) { AttendTile<int8_t>(tile); }

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo
