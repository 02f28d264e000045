#ifndef PHYLLO_MODEL_ONEDNN_INTEGER_INT4_KERNEL_H_
#define PHYLLO_MODEL_ONEDNN_INTEGER_INT4_KERNEL_H_

#include <cstdint>

namespace phyllo {

// Unpacks input features [0, k) of a panel in Int4Layout to multiplier * q, [k / 4, 64, 4] as
// Int8Product reads it. Requires k a multiple of Int4Layout::kBlock, both 64-byte aligned.
// Thread-safe; both functions do the same.
using Int4Unpacker = void (*)(const uint8_t* panel, int64_t k, int8_t* unpacked);
void UnpackInt4Avx2(const uint8_t* panel, int64_t k, int8_t* unpacked);
void UnpackInt4Avx512(const uint8_t* panel, int64_t k, int8_t* unpacked);  // requires F and BW

// A product of few rows, which reads the panel once and writes nothing but the tile.
struct Int4Product {
  static constexpr int64_t kMaxM = 8;

  int64_t m = 0;                   // 1 .. kMaxM
  int64_t k = 0;                   // a multiple of Int4Layout::kBlock
  const uint8_t* x = nullptr;      // [m, k]
  int64_t x_stride = 0;            // bytes
  const uint8_t* panel = nullptr;  // in Int4Layout, 64-byte aligned
  int32_t* tile = nullptr;         // [m, 64], 64-byte aligned
};

// tile = x · panel, the sums of UnpackInt4 and an Int8Kernel. Requires that every sum fits into
// int32, and AVX-512 F, BW, VL and VNNI. Thread-safe with tiles of one's own.
void MultiplyInt4Avx512Vnni(const Int4Product& product);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_INTEGER_INT4_KERNEL_H_
