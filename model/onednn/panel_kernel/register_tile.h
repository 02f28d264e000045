#ifndef PHYLLO_MODEL_ONEDNN_PANEL_KERNEL_REGISTER_TILE_H_
#define PHYLLO_MODEL_ONEDNN_PANEL_KERNEL_REGISTER_TILE_H_

// The loops of the kernels of panel_kernel.h, over what an instruction set offers. Isa is a type
// private to the file that includes this one, so that no two instruction sets share an instance;
// for the same reason nothing here calls an inline function of a library.
//
// Isa has
//   kLanes                              columns of a register
//   Sum                                 a register of kLanes sums, a vector type of the compiler's
//   Weights Prepare(const std::byte*)   [kLanes, 4 bytes] of a panel
//   Input Broadcast(const std::byte*)   four bytes of a row of x
//   Sum Dot(Sum, Input, Weights)        sum + the products of each column

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "model/onednn/panel_kernel/panel_kernel.h"

namespace phyllo {

// The unrolling of the loops over rows and registers is what puts the sums into registers.
#define PHYLLO_UNROLL _Pragma("GCC unroll 8")

inline constexpr int64_t kPanelRowBytes = PanelProduct::kPanel * 4;  // of a panel and of a tile

// Register c of row r of a tile; the compiler's vector types may alias all others.
template <class Isa>
inline typename Isa::Sum& SumAt(std::byte* tile, int r, int c) {
  return *reinterpret_cast<typename Isa::Sum*>(tile + r * kPanelRowBytes + c * Isa::kLanes * 4);
}

// What is fetched while k is gone through, four bytes at a time: with each four as many cache lines
// as their weights take, the first of them `step` bytes behind that of the four before.
struct Fetch {
  const std::byte* begin;
  int64_t step;
};

// R rows of C registers of columns, the first of them `column`.
template <class Isa, int R, int C>
inline void RegisterTile(const PanelProduct& product, int64_t row, int64_t column, Fetch fetch) {
  constexpr int64_t kLine = 64;
  std::byte* const tile = product.tile + row * kPanelRowBytes + column * 4;
  typename Isa::Sum sums[R][C];
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c)
      sums[r][c] = product.add ? SumAt<Isa>(tile, r, c) : typename Isa::Sum{};
  }
  const std::byte* x = product.x + row * product.x_stride;
  const std::byte* panel = product.panel + column * 4;
  const std::byte* ahead = fetch.begin;
  for (int64_t i = 0; i < product.k; i += 4, x += 4, panel += kPanelRowBytes, ahead += fetch.step) {
    typename Isa::Weights weights[C];
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) {
      const int64_t offset = int64_t{c} * Isa::kLanes * 4;
      if (offset % kLine == 0)
        _mm_prefetch(reinterpret_cast<const char*>(ahead + offset), _MM_HINT_T0);
      weights[c] = Isa::Prepare(panel + offset);
    }
    PHYLLO_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename Isa::Input input = Isa::Broadcast(x + r * product.x_stride);
      PHYLLO_UNROLL
      for (int c = 0; c < C; ++c) sums[r][c] = Isa::Dot(sums[r][c], input, weights[c]);
    }
  }
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) SumAt<Isa>(tile, r, c) = sums[r][c];
  }
}

#undef PHYLLO_UNROLL

// What to fetch during one register tile of R rows and `columns` columns: a share of product.next;
// without that what lies behind a whole panel, or, of a slice of a panel, which is read by strides
// that the CPU's own prefetchers do not follow, the same slice of the next part of k.
template <class Isa, int R>
inline Fetch FetchFor(const PanelProduct& product, int64_t row, int64_t column, int64_t columns) {
  constexpr int64_t kPanel = PanelProduct::kPanel;
  if (product.next == nullptr) {
    const int64_t ahead = columns == kPanel ? 2048 : product.k * kPanel;
    return {product.panel + column * 4 + ahead, kPanelRowBytes};
  }
  const int64_t all = product.m * kPanel;
  return {product.next + product.next_bytes * (row * kPanel + R * column) / all,
          product.next_bytes * R * columns / all * 4 / product.k};
}

// R rows of a whole panel.
template <class Isa, int R, int C>
void MultiplyRows(const PanelProduct& product, int64_t row) {
  constexpr int64_t kSlice = int64_t{C} * Isa::kLanes;
  for (int64_t column = 0; column < PanelProduct::kPanel; column += kSlice) {
    RegisterTile<Isa, R, C>(product, row, column, FetchFor<Isa, R>(product, row, column, kSlice));
  }
}

// All rows, six at a time, of a whole panel: 24 sums, 4 registers of weights and one of x, for
// instruction sets with 32 registers of 16 lanes. Seven or eight rows at the end are shared out so
// that no tile has one or two of them, whose few sums would wait for each other.
template <class Isa>
void MultiplyRowsBySix(const PanelProduct& product) {
  static_assert(Isa::kLanes == 16);
  int64_t row = 0;
  for (; product.m - row > 8 || product.m - row == 6; row += 6)
    MultiplyRows<Isa, 6, 4>(product, row);
  for (; product.m - row > 6; row += 4) MultiplyRows<Isa, 4, 4>(product, row);
  switch (product.m - row) {
    case 1:
      return MultiplyRows<Isa, 1, 4>(product, row);
    case 2:
      return MultiplyRows<Isa, 2, 4>(product, row);
    case 3:
      return MultiplyRows<Isa, 3, 4>(product, row);
    case 4:
      return MultiplyRows<Isa, 4, 4>(product, row);
    case 5:
      return MultiplyRows<Isa, 5, 4>(product, row);
    default:
      return;
  }
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_PANEL_KERNEL_REGISTER_TILE_H_
