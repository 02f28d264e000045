#include "model/ops/norm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "model/ops/testing/op_test_data.h"
#include "model/ops/testing/reference_ops.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

constexpr int64_t kWidths[] = {1, 7, 16, 33, 64, 100, 512, 896, 1000};
constexpr int64_t kRows = 3;
constexpr float kEps = 1e-6f;

MatrixView<const float> Dense(const std::vector<float>& values, int64_t rows) {
  const int64_t cols = static_cast<int64_t>(values.size()) / rows;
  return {values.data(), rows, cols, cols};
}

constexpr Precision kInputs[] = {Precision::kF32, Precision::kBf16, Precision::kInt8};

// Relative to the value for f32 (a dozen roundings), to the spacing of bf16 for bf16; absolute
// where a bias cancels it.
double Tolerance(Precision precision, double expected) {
  return precision == Precision::kF32 ? 2e-6 * std::abs(expected) + 1e-6
                                      : std::abs(expected) * 0x1p-8 + 1e-6;
}

void ExpectRow(const LinearInputBuffer& out, int64_t i, const std::vector<double>& expected) {
  for (int64_t j = 0; j < out.view().stride(); ++j) {
    if (j < out.view().cols) {
      const double value = expected[static_cast<size_t>(j)];
      ASSERT_NEAR(out.At(i, j), value, Tolerance(out.view().precision, value))
          << "width " << out.view().cols << " at " << i << ", " << j;
    } else {
      ASSERT_EQ(out.At(i, j), 0.0f) << "padding";
    }
  }
}

TEST(RmsNormTest, MatchesReferenceInF32AndBf16) {
  for (SimdLevel level : SupportedSimdLevels()) {
    for (Precision precision : {Precision::kF32, Precision::kBf16}) {
      for (int64_t d : kWidths) {
        const std::vector<float> x = RandomFloats(kRows * d, 1, 3.0f), weight = RandomFloats(d, 2);
        LinearInputBuffer out(kRows, d, precision);
        RmsNorm(SimdKernels(level), Dense(x, kRows), weight, kEps, out.view());
        for (int64_t i = 0; i < kRows; ++i)
          ExpectRow(out, i,
                    ReferenceRmsNorm(Widen(&x[static_cast<size_t>(i * d)], d),
                                     Widen(weight.data(), d), kEps));
      }
    }
  }
}

// Bytes are those of the results in f32, whose correctness is tested above.
TEST(NormTest, WritesTheResultsInF32AsBytes) {
  for (SimdLevel level : SupportedSimdLevels()) {
    for (int64_t d : kWidths) {
      std::vector<float> x = RandomFloats(kRows * d, 14), weight = RandomFloats(d, 15),
                         bias = RandomFloats(d, 16);
      std::fill_n(x.begin() + d, d, 0.0f);
      LinearInputBuffer wide(kRows, d, Precision::kF32), out(kRows, d, Precision::kInt8);
      RmsNorm(SimdKernels(level), Dense(x, kRows), weight, kEps, wide.view());
      RmsNorm(SimdKernels(level), Dense(x, kRows), weight, kEps, out.view());
      for (int64_t i = 0; i < kRows; ++i)
        ExpectRowOfBytes(out.view(), i, wide.view().AsF32().Row(i));
      LayerNorm(SimdKernels(level), Dense(x, kRows), weight, bias, kEps, wide.view());
      LayerNorm(SimdKernels(level), Dense(x, kRows), weight, bias, kEps, out.view());
      for (int64_t i = 0; i < kRows; ++i)
        ExpectRowOfBytes(out.view(), i, wide.view().AsF32().Row(i));
    }
  }
}

TEST(RmsNormTest, WorksInPlace) {
  const SimdKernels kernels = SimdKernels::ForThisCpu();
  std::vector<float> x = RandomFloats(2 * 50, 3);
  const std::vector<float> weight = RandomFloats(50, 4);
  LinearInputBuffer expected(2, 50, Precision::kF32);
  RmsNorm(kernels, Dense(x, 2), weight, kEps, expected.view());
  RmsNorm(kernels, Dense(x, 2), weight, kEps, MatrixView<float>{x.data(), 2, 50, 50});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 50; ++j)
      EXPECT_EQ(x[static_cast<size_t>(i * 50 + j)], expected.At(i, j));
  }
}

TEST(RmsNormTest, KeepsANanInItsRow) {
  std::vector<float> x = RandomFloats(2 * 40, 5);
  x[7] = std::numeric_limits<float>::quiet_NaN();
  for (Precision precision : kInputs) {
    LinearInputBuffer out(2, 40, precision);
    RmsNorm(SimdKernels::ForThisCpu(), Dense(x, 2), std::vector<float>(40, 1.0f), kEps, out.view());
    for (int64_t j = 0; j < 40; ++j) {
      EXPECT_TRUE(std::isnan(out.At(0, j)));
      EXPECT_TRUE(std::isfinite(out.At(1, j)));
    }
  }
}

TEST(LayerNormTest, MatchesReferenceInF32AndBf16) {
  for (SimdLevel level : SupportedSimdLevels()) {
    for (Precision precision : {Precision::kF32, Precision::kBf16}) {
      for (int64_t d : kWidths) {
        const std::vector<float> weight = RandomFloats(d, 2), bias = RandomFloats(d, 6);
        std::vector<float> x = RandomFloats(kRows * d, 1);
        for (float& value : x) value += 2.0f;
        LinearInputBuffer out(kRows, d, precision);
        LayerNorm(SimdKernels(level), Dense(x, kRows), weight, bias, 1e-5f, out.view());
        for (int64_t i = 0; i < kRows; ++i) {
          ExpectRow(out, i,
                    ReferenceLayerNorm(Widen(&x[static_cast<size_t>(i * d)], d),
                                       Widen(weight.data(), d), Widen(bias.data(), d), 1e-5));
        }
      }
    }
  }
}

TEST(LayerNormTest, AddsNothingWhenBiasIsEmpty) {
  const std::vector<float> x = RandomFloats(30, 7), weight = RandomFloats(30, 8);
  LinearInputBuffer without(1, 30, Precision::kF32), with_zero(1, 30, Precision::kF32);
  LayerNorm(SimdKernels::ForThisCpu(), Dense(x, 1), weight, {}, kEps, without.view());
  LayerNorm(SimdKernels::ForThisCpu(), Dense(x, 1), weight, std::vector<float>(30, 0.0f), kEps,
            with_zero.view());
  EXPECT_EQ(without.bytes(), with_zero.bytes());
}

TEST(RmsNormHeadsTest, NormalizesEachHeadByItself) {
  constexpr int64_t kHeads = 3, kHeadDim = 24;
  std::vector<float> x = RandomFloats(2 * kHeads * kHeadDim, 9);
  const std::vector<float> original = x, weight = RandomFloats(kHeadDim, 10);
  RmsNormHeads(SimdKernels::ForThisCpu(), {x.data(), 2, kHeads * kHeadDim, kHeads * kHeadDim},
               weight, kEps);
  for (int64_t head = 0; head < 2 * kHeads; ++head) {
    const auto at = static_cast<size_t>(head * kHeadDim);
    const std::vector<double> expected =
        ReferenceRmsNorm(Widen(&original[at], kHeadDim), Widen(weight.data(), kHeadDim), kEps);
    for (size_t j = 0; j < kHeadDim; ++j)
      EXPECT_NEAR(x[at + j], expected[j], Tolerance(Precision::kF32, expected[j]));
  }
}

TEST(NormTest, GivesTheSameBitsWithBothInstructionSets) {
  if (SupportedSimdLevels().size() < 2) GTEST_SKIP() << "this CPU has no AVX-512";
  for (int64_t d : kWidths) {
    const std::vector<float> x = RandomFloats(kRows * d, 11), weight = RandomFloats(d, 12),
                             bias = RandomFloats(d, 13);
    for (Precision precision : kInputs) {
      LinearInputBuffer rms3(kRows, d, precision), rms4(kRows, d, precision),
          layer3(kRows, d, precision), layer4(kRows, d, precision);
      RmsNorm(SimdKernels(SimdLevel::kX86V3), Dense(x, kRows), weight, kEps, rms3.view());
      RmsNorm(SimdKernels(SimdLevel::kX86V4), Dense(x, kRows), weight, kEps, rms4.view());
      LayerNorm(SimdKernels(SimdLevel::kX86V3), Dense(x, kRows), weight, bias, kEps, layer3.view());
      LayerNorm(SimdKernels(SimdLevel::kX86V4), Dense(x, kRows), weight, bias, kEps, layer4.view());
      EXPECT_EQ(rms3.bytes(), rms4.bytes()) << d;
      EXPECT_EQ(layer3.bytes(), layer4.bytes()) << d;
    }
  }
}

}  // namespace
}  // namespace phyllo
