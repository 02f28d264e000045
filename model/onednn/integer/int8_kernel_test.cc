#include "model/onednn/integer/int8_kernel.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

constexpr int64_t kPanel = Int8Product::kPanel;
constexpr int64_t kMaxM = Int8Product::kMaxM;

struct NamedKernel {
  const char* name;
  Int8Kernel multiply;
  bool runs_here;
};

class Int8KernelTest : public testing::TestWithParam<NamedKernel> {
 protected:
  void SetUp() override {
    if (!GetParam().runs_here) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  }
};

template <class T>
struct Aligned {
  explicit Aligned(int64_t count) : memory(count + 64 / sizeof(T)) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    data = memory.data() + (64 - address % 64) % 64 / sizeof(T);
  }
  std::vector<T> memory;
  T* data;
};

void ExpectMatchesReference(Int8Product product) {
  std::vector<int32_t> want(product.m * kPanel);
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) {
      int64_t sum = product.add ? 1000 * i + j : 0;
      for (int64_t l = 0; l < product.k; ++l) {
        sum += int64_t{product.x[i * product.x_stride + l]} *
               product.panel[(l / 4 * kPanel + j) * 4 + l % 4];
      }
      ASSERT_EQ(sum, static_cast<int32_t>(sum)) << "the test's sums must fit";
      want[i * kPanel + j] = static_cast<int32_t>(sum);
    }
  }
  Aligned<int32_t> tile(kMaxM * kPanel);
  for (int64_t i = 0; i < kMaxM; ++i) {
    for (int64_t j = 0; j < kPanel; ++j)
      tile.data[i * kPanel + j] = static_cast<int32_t>(1000 * i + j);
  }
  product.tile = tile.data;
  Int8KernelTest::GetParam().multiply(product);
  for (int64_t i = 0; i < kMaxM; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) {
      const int64_t expected = i < product.m ? want[i * kPanel + j] : 1000 * i + j;
      ASSERT_EQ(tile.data[i * kPanel + j], expected)
          << "m " << product.m << " k " << product.k << " at " << i << ", " << j;
    }
  }
}

TEST_P(Int8KernelTest, EqualsThePlainLoopForEveryRowCount) {
  constexpr int64_t kStride = 576;
  std::mt19937 random(1);
  std::vector<uint8_t> x(kMaxM * kStride);
  for (uint8_t& value : x) value = static_cast<uint8_t>(random());
  for (const int64_t k : {4, 12, 64, 100, 512}) {
    Aligned<int8_t> panel(k * kPanel);
    for (int64_t i = 0; i < k * kPanel; ++i) panel.data[i] = static_cast<int8_t>(random());
    for (int64_t m = 1; m <= kMaxM; ++m) {
      for (const bool add : {false, true})
        ExpectMatchesReference({m, k, x.data(), kStride, panel.data, nullptr, add});
    }
  }
}

TEST_P(Int8KernelTest, IsExactForTheLargestBytesOfTheLongestSums) {
  // 255 * 127 * 66308 is just below 2^31.
  constexpr int64_t kK = 66308;
  const std::vector<uint8_t> x(7 * kK, 255);
  for (const int8_t weight : {int8_t{127}, int8_t{-127}}) {
    Aligned<int8_t> panel(kK * kPanel);
    for (int64_t i = 0; i < kK * kPanel; ++i) panel.data[i] = weight;
    for (const int64_t m : {1, 7})
      ExpectMatchesReference({m, kK, x.data(), kK, panel.data, nullptr, false});
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Int8KernelTest,
                         testing::Values(NamedKernel{"Avx2", MultiplyInt8Avx2, true},
                                         NamedKernel{"AvxVnni", MultiplyInt8AvxVnni,
                                                     __builtin_cpu_supports("avxvnni") != 0},
                                         NamedKernel{"Avx512Vnni", MultiplyInt8Avx512Vnni,
                                                     __builtin_cpu_supports("avx512vnni") != 0 &&
                                                         __builtin_cpu_supports("avx512bw") != 0 &&
                                                         __builtin_cpu_supports("avx512vl") != 0}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace phyllo
