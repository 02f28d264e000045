#include "model/onednn/integer/int4_kernel.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/onednn/integer/int4_layout.h"

namespace phyllo {
namespace {

constexpr int64_t kPanel = Int4Layout::kPanel;

bool HasAvx512() { return __builtin_cpu_supports("x86-64-v4") != 0; }

// A panel of k input features and what it means.
struct Panel {
  explicit Panel(int64_t k)
      : k(k), memory(k / Int4Layout::kBlock * Int4Layout::kBlockBytes + 64), weights(k * kPanel) {
    bytes = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  }

  void Set(int64_t i, int64_t column, int multiplier, int q) {
    uint8_t& m = bytes[Int4Layout::MultiplierByte(i, column)];
    m = static_cast<uint8_t>(i / Int4Layout::kGroup % 2 == 1 ? (m & 15) | multiplier << 4
                                                             : (m & 0xf0) | multiplier);
    uint8_t& w = bytes[Int4Layout::WeightByte(i, column)];
    w = static_cast<uint8_t>(i % 8 >= 4 ? (w & 15) | (q & 15) << 4 : (w & 0xf0) | (q & 15));
    weights[i * kPanel + column] = multiplier * q;
  }

  int64_t k;
  std::vector<uint8_t> memory;
  uint8_t* bytes;
  std::vector<int> weights;  // [k, kPanel]
};

// Multipliers are equal in a group of a column.
Panel RandomPanel(int64_t k) {
  std::mt19937 random(static_cast<uint32_t>(k));
  Panel panel(k);
  for (int64_t group = 0; group < k / Int4Layout::kGroup; ++group) {
    for (int64_t column = 0; column < kPanel; ++column) {
      const int multiplier = static_cast<int>(random() % 16);
      for (int64_t i = 0; i < Int4Layout::kGroup; ++i)
        panel.Set(group * Int4Layout::kGroup + i, column, multiplier,
                  static_cast<int>(random() % 16) - 8);
    }
  }
  return panel;
}

TEST(Int4LayoutTest, HasAByteForEveryTwoWeightsAndForEveryTwoMultipliers) {
  constexpr int64_t kK = 192;
  std::vector<int> uses(kK / Int4Layout::kBlock * Int4Layout::kBlockBytes);
  for (int64_t i = 0; i < kK; ++i) {
    for (int64_t column = 0; column < kPanel; ++column) {
      ++uses[Int4Layout::WeightByte(i, column)];
      if (i % Int4Layout::kGroup == 0) ++uses[Int4Layout::MultiplierByte(i, column)];
    }
  }
  for (size_t byte = 0; byte < uses.size(); ++byte) EXPECT_EQ(uses[byte], 2) << byte;
}

TEST(UnpackInt4Test, GivesMultiplierTimesQ) {
  for (const int64_t k : {64, 128, 896}) {
    const Panel panel = RandomPanel(k);
    std::vector<int8_t> memory(k * kPanel + 64);
    int8_t* const unpacked =
        memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    for (const Int4Unpacker unpack : {UnpackInt4Avx2, UnpackInt4Avx512}) {
      if (unpack == UnpackInt4Avx512 && !HasAvx512()) continue;
      std::fill(memory.begin(), memory.end(), int8_t{1});
      unpack(panel.bytes, k, unpacked);
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t column = 0; column < kPanel; ++column) {
          ASSERT_EQ(unpacked[(i / 4 * kPanel + column) * 4 + i % 4],
                    panel.weights[i * kPanel + column])
              << (unpack == UnpackInt4Avx2 ? "AVX2" : "AVX-512") << " k " << i << " of " << k
              << " column " << column;
        }
      }
    }
  }
}

void ExpectProductsOf(const Panel& panel, const std::vector<uint8_t>& x, int64_t stride) {
  alignas(64) int32_t tile[Int4Product::kMaxM * kPanel];
  for (int64_t m = 1; m <= Int4Product::kMaxM; ++m) {
    std::fill(std::begin(tile), std::end(tile), -1);
    MultiplyInt4Avx512Vnni({m, panel.k, x.data(), stride, panel.bytes, tile});
    for (int64_t i = 0; i < Int4Product::kMaxM; ++i) {
      for (int64_t column = 0; column < kPanel; ++column) {
        int32_t sum = i < m ? 0 : -1;
        for (int64_t l = 0; i < m && l < panel.k; ++l)
          sum += x[i * stride + l] * panel.weights[l * kPanel + column];
        ASSERT_EQ(tile[i * kPanel + column], sum)
            << "m " << m << " k " << panel.k << " at " << i << ", " << column;
      }
    }
  }
}

TEST(MultiplyInt4Test, EqualsThePlainLoopForEveryRowCount) {
  if (!HasAvx512() || __builtin_cpu_supports("avx512vnni") == 0)
    GTEST_SKIP() << "this CPU has no AVX-512 VNNI";
  std::mt19937 random(2);
  for (const int64_t k : {64, 128, 896}) {
    std::vector<uint8_t> x(Int4Product::kMaxM * (k + 64));
    for (uint8_t& value : x) value = static_cast<uint8_t>(random());
    ExpectProductsOf(RandomPanel(k), x, k + 64);
  }
}

TEST(MultiplyInt4Test, IsExactForTheLargestValues) {
  if (!HasAvx512() || __builtin_cpu_supports("avx512vnni") == 0)
    GTEST_SKIP() << "this CPU has no AVX-512 VNNI";
  constexpr int64_t kK = 66304;  // 255 * 120 * kK is below 2^31
  Panel panel(kK);
  for (int64_t i = 0; i < kK; ++i) {
    for (int64_t column = 0; column < kPanel; ++column)
      panel.Set(i, column, 15, column % 2 == 0 ? -8 : 7);
  }
  ExpectProductsOf(panel, std::vector<uint8_t>(Int4Product::kMaxM * kK, 255), kK);
}

}  // namespace
}  // namespace phyllo
