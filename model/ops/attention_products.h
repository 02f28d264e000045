#ifndef PHYLLO_MODEL_OPS_ATTENTION_PRODUCTS_H_
#define PHYLLO_MODEL_OPS_ATTENTION_PRODUCTS_H_

// The products of attention, query rows with keys and weights with values, for kernel sources (see
// simd_vector_v3.h). What a page holds and how it is multiplied is said by a type Pages:
//   Element                    of a page
//   kPerStep, kParts           a step takes kPerStep elements of head_dim (of scores) or keys (of
//                              values), side by side in the page, in kParts operations
//   Operand                    of an operation: kLanes columns of a page
//   Read<part>(p), ReadPrefix<part>(p, count)   an operand; its first `count` columns
//   Broadcast<part>(row, step)                  the factors of a row in an operation, for MulAdd
//   MulAdd(factors, operand, sum)
//   Only<keys>(operand)        it with these keys alone; if kPerStep > kParts
//   PrepareRow(row, count)     makes factors of `count` floats, in place
//   StoreFactors(row, c, w)    puts the c-th sixteen weights where Broadcast reads them, nowhere
//                              behind the c-th sixteen floats of the row
#include <cstdint>

#include "model/ops/simd_math.h"

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {

// The unrolling of the loops over rows and vectors is what puts the sums into registers.
#define PHYLLO_UNROLL _Pragma("GCC unroll 8")

inline constexpr int64_t kLanes = 16;

// Keys or values of the head in this page, and of the next one, which are fetched meanwhile.
template <typename T>
struct Block {
  const T* data;
  const T* next;  // null: nothing is fetched
  Block operator+(int64_t offset) const {
    return {data + offset, next == nullptr ? nullptr : next + offset};
  }
  // Fetches the first `count` elements of next.
  void FetchNext(int64_t count) const {
    constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));
    if (next == nullptr) return;
    for (int64_t i = 0; i < count; i += kLine) Fetch(next + i);
  }
};

// Rows of factors: row r at data + r * stride.
struct Rows {
  const float* data;
  int64_t stride;
};

// Which keys of a step count: all, the first or the second of two.
enum class StepKeys { kAll, kFirst, kSecond };

// One operation of a step: R rows and C vectors of columns, the last of `last` (1 to 16) lanes.
template <class Pages, int kPart, StepKeys kKeys, int R, int C>
[[gnu::always_inline]] inline void AddPart(Rows rows, const typename Pages::Element* columns,
                                           int64_t step, int64_t last, Vec (&sums)[R][C]) {
  constexpr int64_t kElements = kLanes * Pages::kPerStep;
  typename Pages::Operand operands[C];
  PHYLLO_UNROLL
  for (int c = 0; c + 1 < C; ++c)
    operands[c] = Pages::template Read<kPart>(columns + c * kElements);
  const typename Pages::Element* const end = columns + (C - 1) * kElements;
  operands[C - 1] = last == kLanes ? Pages::template Read<kPart>(end)
                                   : Pages::template ReadPrefix<kPart>(end, last);
  if constexpr (kKeys != StepKeys::kAll && Pages::kPerStep > Pages::kParts) {
    for (int c = 0; c < C; ++c) operands[c] = Pages::template Only<kKeys>(operands[c]);
  }
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    const auto factor = Pages::template Broadcast<kPart>(rows.data + r * rows.stride, step);
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) sums[r][c] = Pages::MulAdd(factor, operands[c], sums[r][c]);
  }
}

// sums[r][16 c ...] += the products of steps [begin, end) of the rows and the columns [steps,
// pitch].
template <class Pages, StepKeys kKeys, int R, int C>
[[gnu::always_inline]] inline void AddSteps(Rows rows, Block<typename Pages::Element> columns,
                                            int64_t pitch, int64_t begin, int64_t end, int64_t last,
                                            Vec (&sums)[R][C]) {
  constexpr int64_t kElements = C * kLanes * Pages::kPerStep;
  const int64_t stride = pitch * Pages::kPerStep;
  columns = columns + begin * stride;
  for (int64_t step = begin; step < end; ++step, columns = columns + stride) {
    columns.FetchNext(kElements);
    if constexpr (Pages::kParts == 1) {
      AddPart<Pages, 0, kKeys>(rows, columns.data, step, last, sums);
    } else {
      if constexpr (kKeys != StepKeys::kSecond)
        AddPart<Pages, 0, kKeys>(rows, columns.data, step, last, sums);
      if constexpr (kKeys != StepKeys::kFirst)
        AddPart<Pages, 1, kKeys>(rows, columns.data, step, last, sums);
    }
  }
}

// to [R, stride] = sums.
template <int R, int C>
[[gnu::always_inline]] inline void StoreSums(const Vec (&sums)[R][C], int64_t stride, float* to) {
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) Store(to + r * stride + c * kLanes, sums[r][c]);
  }
}

// scores[r][16 c ...] = q[r] . keys[:, 16 c ...] for R rows and C vectors of keys. scores [R,
// page_size].
template <class Pages, int R, int C>
inline void ScoreBlock(Rows q, Block<typename Pages::Element> keys, int64_t head_dim,
                       int64_t page_size, float* scores) {
  Vec sums[R][C];
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) sums[r][c] = Zero();
  }
  const int64_t steps = (head_dim + Pages::kPerStep - 1) / Pages::kPerStep;
  AddSteps<Pages, StepKeys::kAll>(q, keys, page_size, 0, steps, kLanes, sums);
  StoreSums(sums, page_size, scores);
}

template <class Pages, int R>
inline void ScoreRows(Rows q, Block<typename Pages::Element> keys, int64_t head_dim,
                      int64_t page_size, int64_t vectors, float* scores) {
  constexpr int C = ColumnBlock(R);
  constexpr int64_t kElements = kLanes * Pages::kPerStep;
  int64_t c = 0;
  for (; c + C <= vectors; c += C)
    ScoreBlock<Pages, R, C>(q, keys + c * kElements, head_dim, page_size, scores + c * kLanes);
  for (; c < vectors; ++c)
    ScoreBlock<Pages, R, 1>(q, keys + c * kElements, head_dim, page_size, scores + c * kLanes);
}

// Slots [begin, end) of a page.
struct Slots {
  int64_t begin;
  int64_t end;
};

// out[r][...] = out[r][...] * rescale[r] + sum over the keys of `slots`, ascending, of
// weights[r][j] * values[j][...], for R rows and C vectors, the last of which has `last` lanes of
// the row. Several rows want whole steps. out [R, stride].
template <class Pages, int R, int C>
inline void ValueBlock(Rows weights, Block<typename Pages::Element> values, int64_t head_dim,
                       Slots slots, int64_t last, const float* rescale, int64_t stride,
                       float* out) {
  Vec sums[R][C];
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    const Vec factor = Set(rescale == nullptr ? 1.0f : rescale[r]);
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) sums[r][c] = Mul(Load(out + r * stride + c * kLanes), factor);
  }
  constexpr bool kCutsSteps = R == 1 && Pages::kPerStep == 2;
  int64_t begin = slots.begin / Pages::kPerStep;
  const int64_t end = slots.end / Pages::kPerStep;
  if constexpr (kCutsSteps) {
    if (slots.begin % 2 != 0) {
      AddSteps<Pages, StepKeys::kSecond>(weights, values, head_dim, begin, begin + 1, last, sums);
      ++begin;
    }
  }
  AddSteps<Pages, StepKeys::kAll>(weights, values, head_dim, begin, end, last, sums);
  if constexpr (kCutsSteps) {
    if (slots.end % 2 != 0)
      AddSteps<Pages, StepKeys::kFirst>(weights, values, head_dim, end, end + 1, last, sums);
  }
  StoreSums(sums, stride, out);
}

#undef PHYLLO_UNROLL

template <class Pages, int R>
inline void ValueRows(Rows weights, Block<typename Pages::Element> values, int64_t head_dim,
                      Slots slots, const float* rescale, int64_t stride, float* out) {
  constexpr int C = ColumnBlock(R);
  constexpr int64_t kElements = kLanes * Pages::kPerStep;
  const int64_t whole = head_dim / kLanes;
  int64_t c = 0;
  for (; c + C <= whole; c += C) {
    ValueBlock<Pages, R, C>(weights, values + c * kElements, head_dim, slots, kLanes, rescale,
                            stride, out + c * kLanes);
  }
  for (; c < whole; ++c) {
    ValueBlock<Pages, R, 1>(weights, values + c * kElements, head_dim, slots, kLanes, rescale,
                            stride, out + c * kLanes);
  }
  if (const int64_t last = head_dim - whole * kLanes; last > 0) {
    ValueBlock<Pages, R, 1>(weights, values + c * kElements, head_dim, slots, last, rescale, stride,
                            out + c * kLanes);
  }
}

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_ATTENTION_PRODUCTS_H_
