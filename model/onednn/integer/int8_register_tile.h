#ifndef PHYLLO_MODEL_ONEDNN_INTEGER_INT8_REGISTER_TILE_H_
#define PHYLLO_MODEL_ONEDNN_INTEGER_INT8_REGISTER_TILE_H_

// The loops of the kernels of int8_kernel.h, over what an instruction set offers. Isa is a type
// private to the file that includes this one, so that no two instruction sets share an instance;
// for the same reason nothing here calls an inline function of a library.
//
// Isa has
//   kLanes                       columns of a register
//   Sum                          a register of kLanes int32
//   Weights Prepare(const int8_t*)     [kLanes, 4] of a panel
//   Input Broadcast(const uint8_t*)    four bytes of a row of x
//   Sum Dot(Sum, Input, Weights)       sum + the four products of each column
//   Sum Zero(), Sum Load(const int32_t*), void Store(int32_t*, Sum)

#include <immintrin.h>

#include <cstdint>

#include "model/onednn/integer/int8_kernel.h"

namespace phyllo {

// The unrolling of the loops over rows and registers is what puts the sums into registers.
#define PHYLLO_UNROLL _Pragma("GCC unroll 8")

// R rows of C registers of columns, the first of them `column`. Prefetches what lies `ahead` bytes
// behind what it reads.
template <class Isa, int R, int C>
inline void Int8RegisterTile(const Int8Product& product, int64_t row, int64_t column,
                             int64_t ahead) {
  constexpr int64_t kPanel = Int8Product::kPanel;
  constexpr int64_t kLineColumns = 16;  // of a cache line
  int32_t* const tile = product.tile + row * kPanel + column;
  typename Isa::Sum sums[R][C];
  PHYLLO_UNROLL
  for (int r = 0; r < R; ++r) {
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c)
      sums[r][c] = product.add ? Isa::Load(tile + r * kPanel + c * Isa::kLanes) : Isa::Zero();
  }
  const uint8_t* x = product.x + row * product.x_stride;
  const int8_t* panel = product.panel + column * 4;
  for (int64_t i = 0; i < product.k; i += 4, x += 4, panel += kPanel * 4) {
    typename Isa::Weights weights[C];
    PHYLLO_UNROLL
    for (int c = 0; c < C; ++c) {
      if (c * Isa::kLanes % kLineColumns == 0)
        _mm_prefetch(reinterpret_cast<const char*>(panel + c * Isa::kLanes * 4 + ahead),
                     _MM_HINT_T0);
      weights[c] = Isa::Prepare(panel + c * Isa::kLanes * 4);
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
    for (int c = 0; c < C; ++c) Isa::Store(tile + r * kPanel + c * Isa::kLanes, sums[r][c]);
  }
}

#undef PHYLLO_UNROLL

// R rows of a whole panel. Slices of a panel are read by strides that the CPU's own prefetchers do
// not follow: while one part of k is worked on, the same slice of the next part is fetched.
template <class Isa, int R, int C>
void Int8Rows(const Int8Product& product, int64_t row) {
  constexpr int64_t kSlice = int64_t{C} * Isa::kLanes;
  const int64_t ahead = kSlice == Int8Product::kPanel ? 2048 : product.k * Int8Product::kPanel;
  for (int64_t column = 0; column < Int8Product::kPanel; column += kSlice)
    Int8RegisterTile<Isa, R, C>(product, row, column, ahead);
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_INTEGER_INT8_REGISTER_TILE_H_
