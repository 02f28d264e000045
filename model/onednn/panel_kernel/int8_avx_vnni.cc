#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "model/onednn/panel_kernel/panel_kernel.h"
#include "model/onednn/panel_kernel/register_tile.h"

namespace phyllo {
namespace {

struct AvxVnni {
  static constexpr int kLanes = 8;
  using Sum = __m256i;
  using Weights = __m256i;
  using Input = __m256i;

  static Weights Prepare(const std::byte* panel) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(panel));
  }
  static Input Broadcast(const std::byte* x) {
    return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(x)));
  }
  static Sum Dot(Sum sum, Input x, Weights w) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
};

}  // namespace

void MultiplyInt8AvxVnni(const PanelProduct& product) {
  int64_t row = 0;
  for (; product.m - row >= 6; row += 6) MultiplyRows<AvxVnni, 6, 2>(product, row);
  switch (product.m - row) {
    case 1:
      return MultiplyRows<AvxVnni, 1, 8>(product, row);
    case 2:
      return MultiplyRows<AvxVnni, 2, 4>(product, row);
    case 3:
      return MultiplyRows<AvxVnni, 3, 4>(product, row);
    case 4:
      return MultiplyRows<AvxVnni, 4, 2>(product, row);
    case 5:
      return MultiplyRows<AvxVnni, 5, 2>(product, row);
    default:
      return;
  }
}

}  // namespace phyllo
