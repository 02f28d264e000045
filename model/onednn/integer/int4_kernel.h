#ifndef PHYLLO_MODEL_ONEDNN_INTEGER_INT4_KERNEL_H_
#define PHYLLO_MODEL_ONEDNN_INTEGER_INT4_KERNEL_H_

#include <cstdint>

namespace phyllo {

// Unpacks input features [0, k) of a panel in Int4Layout to multiplier * q, [k / 4, 64, 4] as
// a PanelProduct of int8 reads it. Requires k a multiple of Int4Layout::kBlock, both 64-byte
// aligned. Thread-safe; both functions do the same.
using Int4Unpacker = void (*)(const uint8_t* panel, int64_t k, int8_t* unpacked);
void UnpackInt4Avx2(const uint8_t* panel, int64_t k, int8_t* unpacked);
void UnpackInt4Avx512(const uint8_t* panel, int64_t k, int8_t* unpacked);  // requires x86-64-v4

// A product of few rows, which reads the panel once and writes nothing but the tile. For more rows
// than kMaxM it is faster to unpack the panel.
struct Int4Product {
  static constexpr int64_t kMaxM = 4;

  int64_t m = 0;                   // 1 .. kMaxM
  int64_t k = 0;                   // a multiple of Int4Layout::kBlock
  const uint8_t* x = nullptr;      // [m, k]
  int64_t x_stride = 0;            // bytes
  const uint8_t* panel = nullptr;  // in Int4Layout, 64-byte aligned
  int32_t* tile = nullptr;         // [m, 64], 64-byte aligned
};

// tile = x · panel, the sums of an Int4Unpacker and a PanelKernel. Requires that every sum fits
// into int32, and x86-64-v4 and AVX-512 VNNI. Thread-safe with tiles of one's own.
void MultiplyInt4Avx512Vnni(const Int4Product& product);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_INTEGER_INT4_KERNEL_H_
