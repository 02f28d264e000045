#ifndef PHYLLO_MODEL_ONEDNN_PANEL_KERNEL_PANEL_KERNEL_H_
#define PHYLLO_MODEL_ONEDNN_PANEL_KERNEL_PANEL_KERNEL_H_

#include <cstddef>
#include <cstdint>

namespace phyllo {

// A product of rows with a panel of columns. Four bytes of a row of x meet four bytes of a column
// at a time: four integers of int8, two numbers of bf16.
struct PanelProduct {
  static constexpr int64_t kMaxM = 256;
  static constexpr int64_t kPanel = 64;  // columns

  int64_t m = 0;                     // 1 .. kMaxM
  int64_t k = 0;                     // bytes of a row of x: a multiple of 4, at least 4
  const std::byte* x = nullptr;      // [m, k], 4-byte aligned
  int64_t x_stride = 0;              // bytes, a multiple of 4
  const std::byte* panel = nullptr;  // [k / 4, kPanel, 4], 64-byte aligned
  std::byte* tile = nullptr;         // [m, kPanel] of int32 or f32, 64-byte aligned
  bool add = false;                  // to what the tile holds
  // What will be read after this product, to be fetched bit by bit meanwhile. If null, that is what
  // lies behind the panel.
  const std::byte* next = nullptr;
  int64_t next_bytes = 0;
};

// tile (+)= x · panel. Thread-safe with tiles of one's own; allocate nothing.
using PanelKernel = void (*)(const PanelProduct& product);

// Unsigned bytes of x with signed bytes of the panel, summed in int32. Requires that every sum
// fits; then all of these give the same bits.
void MultiplyInt8Avx2(const PanelProduct& product);        // the baseline of the build
void MultiplyInt8AvxVnni(const PanelProduct& product);     // requires AVX-VNNI
void MultiplyInt8Avx512Vnni(const PanelProduct& product);  // requires x86-64-v4 and AVX-512 VNNI

// bf16 with bf16, summed in f32: each element is one chain of VDPBF16PS over k in ascending order,
// from 0 or from what the tile holds. So products of the parts of a longer k one after the other
// give the bits of the whole, and a row does not depend on m.
void MultiplyBf16Avx512(const PanelProduct& product);  // requires x86-64-v4 and AVX-512 BF16

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_PANEL_KERNEL_PANEL_KERNEL_H_
