#include <immintrin.h>

#include <cstddef>

#include "model/onednn/panel_kernel/panel_kernel.h"
#include "model/onednn/panel_kernel/register_tile.h"

namespace phyllo {
namespace {

struct Avx512Vnni {
  static constexpr int kLanes = 16;
  using Sum = __m512i;
  using Weights = __m512i;
  using Input = __m512i;

  static Weights Prepare(const std::byte* panel) { return _mm512_load_si512(panel); }
  static Input Broadcast(const std::byte* x) {
    return _mm512_castps_si512(
        _mm512_broadcastss_ps(_mm_load_ss(reinterpret_cast<const float*>(x))));
  }
  static Sum Dot(Sum sum, Input x, Weights w) { return _mm512_dpbusd_epi32(sum, x, w); }
};

}  // namespace

void MultiplyInt8Avx512Vnni(const PanelProduct& product) { MultiplyRowsBySix<Avx512Vnni>(product); }

}  // namespace phyllo
