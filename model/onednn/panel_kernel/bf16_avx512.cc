#include <immintrin.h>

#include <cstddef>

#include "model/onednn/panel_kernel/panel_kernel.h"
#include "model/onednn/panel_kernel/register_tile.h"

namespace phyllo {
namespace {

struct Avx512Bf16 {
  static constexpr int kLanes = 16;
  using Sum = __m512;
  using Weights = __m512bh;
  using Input = __m512bh;

  static Weights Prepare(const std::byte* panel) {
    return reinterpret_cast<Weights>(_mm512_load_si512(panel));
  }
  static Input Broadcast(const std::byte* x) {
    return reinterpret_cast<Input>(
        _mm512_broadcastss_ps(_mm_load_ss(reinterpret_cast<const float*>(x))));
  }
  static Sum Dot(Sum sum, Input x, Weights w) { return _mm512_dpbf16_ps(sum, x, w); }
};

}  // namespace

void MultiplyBf16Avx512(const PanelProduct& product) { MultiplyRowsBySix<Avx512Bf16>(product); }

}  // namespace phyllo
