#ifndef PHYLLO_MODEL_ONEDNN_INTEGER_INT8_KERNEL_H_
#define PHYLLO_MODEL_ONEDNN_INTEGER_INT8_KERNEL_H_

#include <cstdint>

namespace phyllo {

// A product of unsigned bytes with signed bytes, summed in int32.
struct Int8Product {
  static constexpr int64_t kMaxM = 32;
  static constexpr int64_t kPanel = 64;  // columns

  int64_t m = 0;                  // 1 .. kMaxM
  int64_t k = 0;                  // a multiple of 4, at least 4
  const uint8_t* x = nullptr;     // [m, k]
  int64_t x_stride = 0;           // bytes
  const int8_t* panel = nullptr;  // [k / 4, kPanel, 4]: four of k side by side; 64-byte aligned
  int32_t* tile = nullptr;        // [m, kPanel], 64-byte aligned
  bool add = false;               // to what the tile holds
};

// tile (+)= x · panel. Requires that every sum fits into int32; then all of these give the same
// bits. Thread-safe with tiles of one's own; allocate nothing.
using Int8Kernel = void (*)(const Int8Product& product);
void MultiplyInt8Avx2(const Int8Product& product);        // the baseline of the build
void MultiplyInt8AvxVnni(const Int8Product& product);     // requires AVX-VNNI
void MultiplyInt8Avx512Vnni(const Int8Product& product);  // requires AVX-512 F, BW, VL and VNNI

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_INTEGER_INT8_KERNEL_H_
