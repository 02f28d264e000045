#ifndef PHYLLO_MODEL_ONEDNN_BF16_KERNEL_H_
#define PHYLLO_MODEL_ONEDNN_BF16_KERNEL_H_

#include <cstdint>

namespace phyllo {

// A product of bf16 operands for CPUs whose instruction sets have none (AVX2): the operands are
// widened to f32 in registers, which is exact, so only half the bytes of f32 are read from memory.
struct Bf16Product {
  static constexpr int64_t kMaxM = 32;
  static constexpr int64_t kMaxK = 256;
  static constexpr int64_t kPanel = 64;  // columns

  int64_t m = 0;                    // 1 .. kMaxM
  int64_t k = 0;                    // even, 2 .. kMaxK
  const uint16_t* x = nullptr;      // [m, k], bf16
  int64_t x_stride = 0;             // elements
  const uint16_t* panel = nullptr;  // [k / 2, kPanel, 2], bf16: pairs of k side by side
  float* tile = nullptr;            // [m, kPanel]
  bool add = false;                 // to what the tile holds
};

// Bytes of scratch that MultiplyBf16 needs, 64-byte aligned.
inline constexpr int64_t kBf16ScratchBytes =
    Bf16Product::kMaxM * (Bf16Product::kMaxK + 16) * static_cast<int64_t>(sizeof(float));

// tile (+)= x · panel. Every element is one chain of fused multiply-adds in f32, over k in
// ascending order, from 0 or from what the tile holds: products of the parts of a longer k one
// after the other give the bits of the whole, and a row does not depend on m. Allocates nothing;
// thread-safe with tiles and scratches of one's own.
void MultiplyBf16(const Bf16Product& product, void* scratch);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_BF16_KERNEL_H_
