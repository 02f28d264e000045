#include "model/onednn/panel_kernel/panel_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

constexpr int64_t kPanel = PanelProduct::kPanel;
constexpr int64_t kMaxM = 40;  // every remainder of rows, behind several tiles of six

// A number of T elements at a multiple of 64 bytes.
template <class T>
struct Aligned {
  explicit Aligned(int64_t count) : memory(count + 64 / sizeof(T)) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    data = memory.data() + (64 - address % 64) % 64 / sizeof(T);
  }
  std::byte* bytes() const { return reinterpret_cast<std::byte*>(data); }

  std::vector<T> memory;
  T* data;
};

struct NamedKernel {
  const char* name;
  PanelKernel multiply;
  bool runs_here;
};

class Int8KernelTest : public testing::TestWithParam<NamedKernel> {
 protected:
  void SetUp() override {
    if (!GetParam().runs_here) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  }
};

// Multiplies x [m, k] with rows `stride` bytes apart by a panel [k / 4, kPanel, 4].
struct Int8Case {
  int64_t m, k;
  const std::vector<uint8_t>& x;
  int64_t stride;
  const Aligned<int8_t>& panel;
  bool add;
  const std::vector<std::byte>* next = nullptr;
};

void ExpectMatchesReference(const Int8Case& c) {
  std::vector<int32_t> want(c.m * kPanel);
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) {
      int64_t sum = c.add ? 1000 * i + j : 0;
      for (int64_t l = 0; l < c.k; ++l)
        sum += int64_t{c.x[i * c.stride + l]} * c.panel.data[(l / 4 * kPanel + j) * 4 + l % 4];
      ASSERT_EQ(sum, static_cast<int32_t>(sum)) << "the test's sums must fit";
      want[i * kPanel + j] = static_cast<int32_t>(sum);
    }
  }
  const Aligned<int32_t> tile(kMaxM * kPanel);
  for (int64_t i = 0; i < kMaxM; ++i) {
    for (int64_t j = 0; j < kPanel; ++j)
      tile.data[i * kPanel + j] = static_cast<int32_t>(1000 * i + j);
  }
  Int8KernelTest::GetParam().multiply({.m = c.m,
                                       .k = c.k,
                                       .x = reinterpret_cast<const std::byte*>(c.x.data()),
                                       .x_stride = c.stride,
                                       .panel = c.panel.bytes(),
                                       .tile = tile.bytes(),
                                       .add = c.add,
                                       .next = c.next == nullptr ? nullptr : c.next->data(),
                                       .next_bytes = c.next == nullptr ? 0 : std::ssize(*c.next)});
  for (int64_t i = 0; i < kMaxM; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) {
      const int64_t expected = i < c.m ? want[i * kPanel + j] : 1000 * i + j;
      ASSERT_EQ(tile.data[i * kPanel + j], expected)
          << "m " << c.m << " k " << c.k << " at " << i << ", " << j;
    }
  }
}

TEST_P(Int8KernelTest, EqualsThePlainLoopForEveryRowCount) {
  constexpr int64_t kStride = 576;
  std::mt19937 random(1);
  std::vector<uint8_t> x(kMaxM * kStride);
  for (uint8_t& value : x) value = static_cast<uint8_t>(random());
  for (const int64_t k : {4, 12, 64, 100, 512}) {
    const Aligned<int8_t> panel(k * kPanel);
    for (int64_t i = 0; i < k * kPanel; ++i) panel.data[i] = static_cast<int8_t>(random());
    for (int64_t m = 1; m <= kMaxM; ++m) {
      for (const bool add : {false, true}) ExpectMatchesReference({m, k, x, kStride, panel, add});
    }
  }
}

TEST_P(Int8KernelTest, IsExactForTheLargestBytesOfTheLongestSums) {
  // 255 * 127 * 66308 is just below 2^31.
  constexpr int64_t kK = 66308;
  const std::vector<uint8_t> x(7 * kK, 255);
  for (const int8_t weight : {int8_t{127}, int8_t{-127}}) {
    const Aligned<int8_t> panel(kK * kPanel);
    for (int64_t i = 0; i < kK * kPanel; ++i) panel.data[i] = weight;
    for (const int64_t m : {1, 7}) ExpectMatchesReference({m, kK, x, kK, panel, /*add=*/false});
  }
}

TEST_P(Int8KernelTest, FetchingWhatComesNextChangesNothing) {
  constexpr int64_t kK = 100;
  std::mt19937 random(2);
  std::vector<uint8_t> x(kMaxM * kK);
  for (uint8_t& value : x) value = static_cast<uint8_t>(random());
  const Aligned<int8_t> panel(kK * kPanel);
  for (int64_t i = 0; i < kK * kPanel; ++i) panel.data[i] = static_cast<int8_t>(random());
  const std::vector<std::byte> next(5000);
  for (int64_t m = 1; m <= kMaxM; ++m)
    ExpectMatchesReference({m, kK, x, kK, panel, /*add=*/true, &next});
}

INSTANTIATE_TEST_SUITE_P(Isas, Int8KernelTest,
                         testing::Values(NamedKernel{"Avx2", MultiplyInt8Avx2, true},
                                         NamedKernel{"AvxVnni", MultiplyInt8AvxVnni,
                                                     __builtin_cpu_supports("avxvnni") != 0},
                                         NamedKernel{
                                             "Avx512Vnni", MultiplyInt8Avx512Vnni,
                                             __builtin_cpu_supports("x86-64-v4") != 0 &&
                                                 __builtin_cpu_supports("avx512vnni") != 0}),
                         [](const auto& info) { return std::string(info.param.name); });

class Bf16KernelTest : public testing::Test {
 protected:
  static constexpr int64_t kStride = 640;  // numbers

  void SetUp() override {
    if (__builtin_cpu_supports("x86-64-v4") == 0 || __builtin_cpu_supports("avx512bf16") == 0)
      GTEST_SKIP() << "this CPU has no AVX-512 BF16";
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (uint16_t& value : x_) value = FloatToBf16(normal(random));
    for (int64_t i = 0; i < kStride * kPanel; ++i) panel_.data[i] = FloatToBf16(normal(random));
  }

  // The tile [m, kPanel] of rows [row, row + m) of x over inputs [begin, begin + k).
  std::vector<float> Multiply(int64_t row, int64_t m, int64_t begin, int64_t k,
                              std::vector<float> before = {}) const {
    const Aligned<float> tile(kMaxM * kPanel);
    std::copy(before.begin(), before.end(), tile.data);
    MultiplyBf16Avx512({.m = m,
                        .k = 2 * k,
                        .x = x_bytes() + 2 * (row * kStride + begin),
                        .x_stride = 2 * kStride,
                        .panel = panel_.bytes() + 2 * begin * kPanel,
                        .tile = tile.bytes(),
                        .add = !before.empty()});
    return {tile.data, tile.data + m * kPanel};
  }

  const std::byte* x_bytes() const { return reinterpret_cast<const std::byte*>(x_.data()); }
  double X(int64_t i, int64_t l) const { return Bf16ToFloat(x_[i * kStride + l]); }
  double Weight(int64_t l, int64_t j) const {
    return Bf16ToFloat(panel_.data[(l / 2 * kPanel + j) * 2 + l % 2]);
  }

  std::vector<uint16_t> x_ = std::vector<uint16_t>(kMaxM * kStride);
  const Aligned<uint16_t> panel_{kStride * kPanel};
};

TEST_F(Bf16KernelTest, IsCloseToTheSumInDouble) {
  for (const int64_t k : {2, 6, 64, 640}) {
    const std::vector<float> tile = Multiply(0, kMaxM, 0, k);
    for (int64_t i = 0; i < kMaxM; ++i) {
      for (int64_t j = 0; j < kPanel; ++j) {
        double sum = 0.0, magnitude = 0.0;
        for (int64_t l = 0; l < k; ++l) {
          sum += X(i, l) * Weight(l, j);
          magnitude += std::abs(X(i, l) * Weight(l, j));
        }
        // Each of k roundings is at most 2^-24 of what has been summed.
        ASSERT_NEAR(tile[i * kPanel + j], sum, magnitude * 0x1p-24 * static_cast<double>(k))
            << "k " << k << " at " << i << ", " << j;
      }
    }
  }
}

TEST_F(Bf16KernelTest, GivesARowTheSameBitsWhateverTheRowCount) {
  const std::vector<float> all = Multiply(0, kMaxM, 0, kStride);
  for (int64_t m = 1; m < kMaxM; ++m) {
    const std::vector<float> tile = Multiply(kMaxM - m, m, 0, kStride);
    ASSERT_EQ(std::memcmp(tile.data(), &all[(kMaxM - m) * kPanel], tile.size() * sizeof(float)), 0)
        << m << " rows";
  }
}

TEST_F(Bf16KernelTest, GivesTheBitsOfTheWholeInParts) {
  const std::vector<float> first = Multiply(0, 7, 0, 256);
  EXPECT_EQ(Multiply(0, 7, 256, kStride - 256, first), Multiply(0, 7, 0, kStride));
}

}  // namespace
}  // namespace phyllo
