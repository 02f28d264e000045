#include "model/onednn/bf16_kernel.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

constexpr int64_t kPanel = Bf16Product::kPanel;
constexpr int64_t kMaxM = Bf16Product::kMaxM;

std::vector<uint16_t> RandomBf16(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& value : values) value = FloatToBf16(normal(random));
  return values;
}

// The same written down plainly, which gives the same bits.
void Reference(const Bf16Product& product) {
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) {
      float sum = product.add ? product.tile[i * kPanel + j] : 0.0f;
      for (int64_t l = 0; l < product.k; ++l) {
        const float x = Bf16ToFloat(product.x[i * product.x_stride + l]);
        const float w = Bf16ToFloat(product.panel[(l / 2 * kPanel + j) * 2 + l % 2]);
        sum = std::fma(x, w, sum);
      }
      product.tile[i * kPanel + j] = sum;
    }
  }
}

std::vector<float> Multiply(Bf16Product product, std::vector<float> tile) {
  std::vector<std::byte> scratch(kBf16ScratchBytes);
  product.tile = tile.data();
  MultiplyBf16(product, scratch.data());
  return tile;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(MultiplyBf16Test, GivesTheBitsOfThePlainLoop) {
  constexpr int64_t kStride = 300;
  for (int64_t k : {2, 6, 32, 100, 256}) {
    const std::vector<uint16_t> x = RandomBf16(kMaxM * kStride, 1);
    const std::vector<uint16_t> panel = RandomBf16(k * kPanel, 2);
    for (int64_t m = 1; m <= kMaxM; ++m) {
      for (bool add : {false, true}) {
        const std::vector<float> before(m * kPanel, 0.75f);
        std::vector<float> want = before;
        Bf16Product product = {.m = m,
                               .k = k,
                               .x = x.data(),
                               .x_stride = kStride,
                               .panel = panel.data(),
                               .tile = want.data(),
                               .add = add};
        Reference(product);
        EXPECT_TRUE(SameBits(Multiply(product, before), want))
            << "m " << m << " k " << k << " " << add;
      }
    }
  }
}

TEST(MultiplyBf16Test, DoesNotReadATileItDoesNotAddTo) {
  const std::vector<uint16_t> x = RandomBf16(7 * 64, 3);
  const std::vector<uint16_t> panel = RandomBf16(64 * kPanel, 4);
  const Bf16Product product = {
      .m = 7, .k = 64, .x = x.data(), .x_stride = 64, .panel = panel.data()};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(SameBits(Multiply(product, std::vector<float>(7 * kPanel, nan)),
                       Multiply(product, std::vector<float>(7 * kPanel, 0.0f))));
}

TEST(MultiplyBf16Test, KeepsNanInItsRow) {
  std::vector<uint16_t> x = RandomBf16(8 * 64, 5);
  const std::vector<uint16_t> panel = RandomBf16(64 * kPanel, 6);
  x[3 * 64 + 17] = FloatToBf16(std::numeric_limits<float>::quiet_NaN());
  const std::vector<float> tile =
      Multiply({.m = 8, .k = 64, .x = x.data(), .x_stride = 64, .panel = panel.data()},
               std::vector<float>(8 * kPanel));
  for (size_t i = 0; i < tile.size(); ++i)
    EXPECT_EQ(std::isnan(tile[i]), i / kPanel == 3) << "element " << i;
}

}  // namespace
}  // namespace phyllo
