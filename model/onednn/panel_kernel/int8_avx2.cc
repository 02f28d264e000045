#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/onednn/panel_kernel/panel_kernel.h"
#include "model/onednn/panel_kernel/register_tile.h"

namespace phyllo {
namespace {

// vpmaddubsw saturates where two products exceed 16 bits. So the bytes are widened to 16 bits, the
// even and the odd ones of each column's four apart, and vpmaddwd adds two products exactly.
struct Avx2 {
  static constexpr int kLanes = 8;
  using Sum = __m256i;
  struct Pairs {
    __m256i even, odd;
  };
  using Weights = Pairs;
  using Input = Pairs;

  static Weights Prepare(const std::byte* panel) {
    const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel));
    return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
  }
  static Input Broadcast(const std::byte* x) {
    int32_t bytes;
    std::memcpy(&bytes, x, sizeof(bytes));
    const __m256i four = _mm256_set1_epi32(bytes);
    return {_mm256_and_si256(four, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(four, 8)};
  }
  static Sum Dot(Sum sum, const Input& x, const Weights& w) {
    return _mm256_add_epi32(
        sum, _mm256_add_epi32(_mm256_madd_epi16(x.even, w.even), _mm256_madd_epi16(x.odd, w.odd)));
  }
};

}  // namespace

void MultiplyInt8Avx2(const PanelProduct& product) {
  int64_t row = 0;
  for (; product.m - row >= 4; row += 4) MultiplyRows<Avx2, 4, 2>(product, row);
  switch (product.m - row) {
    case 1:
      return MultiplyRows<Avx2, 1, 8>(product, row);
    case 2:
      return MultiplyRows<Avx2, 2, 4>(product, row);
    case 3:
      return MultiplyRows<Avx2, 3, 2>(product, row);
    default:
      return;
  }
}

}  // namespace phyllo
