#include "model/ops/activation.h"

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

constexpr ActivationKind kKinds[] = {ActivationKind::kSilu, ActivationKind::kGelu,
                                     ActivationKind::kGeluTanh, ActivationKind::kRelu};

MatrixView<float> OneRow(std::vector<float>& x) {
  const auto cols = static_cast<int64_t>(x.size());
  return {x.data(), 1, cols, cols};
}

// Every float of interest: a fine grid over [-20, 20] and large arguments.
std::vector<float> Grid() {
  std::vector<float> x;
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) * 1e-3f);
  for (float value : {1e-30f, 1e-4f, 50.0f, 88.0f, 120.0f, 1e4f, 1e30f})
    x.push_back(value), x.push_back(-value);
  return x;
}

TEST(ActivateTest, MatchesReferenceOverTheWholeRange) {
  std::vector<float> x = Grid();
  for (SimdLevel level : SupportedSimdLevels()) {
    for (ActivationKind kind : kKinds) {
      LinearInputBuffer out(1, static_cast<int64_t>(x.size()), Precision::kF32);
      Activate(SimdKernels(level), kind, OneRow(x), out.view());
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = ReferenceActivation(kind, x[i]);
        // A few ulp, and absolutely the rounding of the function's factor in its negative tail
        // (torch computes 1 + erf in f32 too).
        ASSERT_NEAR(out.At(0, static_cast<int64_t>(i)), expected, 1e-6 * std::abs(expected) + 2e-7)
            << static_cast<int>(kind) << " at " << x[i];
      }
    }
  }
}

TEST(ActivateTest, KeepsNan) {
  std::vector<float> x = {std::numeric_limits<float>::quiet_NaN(), 1.0f};
  for (ActivationKind kind : kKinds) {
    LinearInputBuffer out(1, 2, Precision::kBf16);
    Activate(SimdKernels::ForThisCpu(), kind, OneRow(x), out.view());
    EXPECT_TRUE(std::isnan(out.At(0, 0))) << static_cast<int>(kind);
    EXPECT_TRUE(std::isfinite(out.At(0, 1))) << static_cast<int>(kind);
  }
}

TEST(ActivateGatedTest, MultipliesByUpAndZeroesThePadding) {
  constexpr int64_t kRows = 3, kCols = 77;
  std::vector<float> fused = RandomFloats(kRows * 2 * kCols, 1, 3.0f);
  const MatrixView<float> gate_up{fused.data(), kRows, 2 * kCols, 2 * kCols};
  for (ActivationKind kind : kKinds) {
    for (Precision precision : {Precision::kF32, Precision::kBf16}) {
      LinearInputBuffer out(kRows, kCols, precision);
      ActivateGated(SimdKernels::ForThisCpu(), kind, gate_up.SubCols(0, kCols),
                    gate_up.SubCols(kCols, kCols), out.view());
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < kCols; ++j) {
          const double expected =
              ReferenceActivation(kind, gate_up.Row(i)[j]) * gate_up.Row(i)[kCols + j];
          const double tolerance = precision == Precision::kF32 ? 2e-6 : 0x1p-8;
          ASSERT_NEAR(out.At(i, j), expected, tolerance * std::abs(expected) + 1e-6);
        }
        for (int64_t j = kCols; j < out.padded_cols(); ++j) ASSERT_EQ(out.At(i, j), 0.0f);
      }
    }
  }
}

TEST(ActivateGatedTest, GivesTheSameBitsWithBothInstructionSets) {
  if (SupportedSimdLevels().size() < 2) GTEST_SKIP() << "this CPU has no AVX-512";
  const std::vector<float> grid = Grid();
  const auto n = static_cast<int64_t>(grid.size());
  std::vector<float> up = RandomFloats(n, 2);
  for (ActivationKind kind : kKinds) {
    for (Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
      LinearInputBuffer v3(1, n, precision), v4(1, n, precision);
      std::vector<float> gate = grid, same_gate = grid;
      ActivateGated(SimdKernels(SimdLevel::kX86V3), kind, OneRow(gate), OneRow(up), v3.view());
      ActivateGated(SimdKernels(SimdLevel::kX86V4), kind, OneRow(same_gate), OneRow(up), v4.view());
      EXPECT_EQ(v3.bytes(), v4.bytes()) << static_cast<int>(kind);
    }
  }
}

// Bytes are those of the results in f32, whose correctness is tested above.
TEST(ActivateGatedTest, WritesTheResultsInF32AsBytes) {
  for (SimdLevel level : SupportedSimdLevels()) {
    for (const int64_t cols : {1, 63, 64, 77, 4033}) {
      const std::vector<float> gate = RandomFloats(2 * cols, 6, 3.0f);
      const std::vector<float> up = RandomFloats(2 * cols, 7);
      for (ActivationKind kind : kKinds) {
        LinearInputBuffer wide(2, cols, Precision::kF32), gated(2, cols, Precision::kInt8),
            plain(2, cols, Precision::kInt8);
        std::vector<float> x = gate;
        const MatrixView<float> rows{x.data(), 2, cols, cols};
        ActivateGated(SimdKernels(level), kind, rows, {up.data(), 2, cols, cols}, wide.view());
        ActivateGated(SimdKernels(level), kind, rows, {up.data(), 2, cols, cols}, gated.view());
        for (int64_t i = 0; i < 2; ++i)
          ExpectRowOfBytes(gated.view(), i, wide.view().AsF32().Row(i));
        x = gate;
        Activate(SimdKernels(level), kind, rows, wide.view());
        Activate(SimdKernels(level), kind, rows, plain.view());
        for (int64_t i = 0; i < 2; ++i)
          ExpectRowOfBytes(plain.view(), i, wide.view().AsF32().Row(i));
      }
    }
  }
}

TEST(AddScaledRowsTest, RoundsTheProductBeforeItIsAdded) {
  const std::vector<float> x = RandomFloats(2 * 37, 3);
  for (float factor : {1.0f, 0.22f}) {
    std::vector<float> y = RandomFloats(2 * 37, 4);
    const std::vector<float> before = y;
    AddScaledRows(SimdKernels::ForThisCpu(), factor, {x.data(), 2, 37, 37}, {y.data(), 2, 37, 37});
    for (size_t i = 0; i < y.size(); ++i) {
      const volatile float product = factor * x[i];  // volatile: not fused with the sum
      EXPECT_EQ(y[i], before[i] + product);
    }
  }
}

TEST(SoftCapRowsTest, MatchesTheDoubleFormula) {
  std::vector<float> grid = Grid();
  for (float value : {0.3f, 1.875f, 30.0f}) grid.push_back(value);
  for (SimdLevel level : SupportedSimdLevels()) {
    for (float cap : {0.0f, 1.0f, 3.0f, 30.0f}) {
      std::vector<float> y = grid;
      const auto n = static_cast<int64_t>(y.size());
      SoftCapRows(SimdKernels(level), 1.5f, cap, {y.data(), 1, n, n});
      for (size_t i = 0; i < y.size(); ++i) {
        const double quotient = static_cast<double>(grid[i]) / 1.5;
        const double want = cap > 0 ? cap * std::tanh(quotient / cap) : quotient;
        ASSERT_NEAR(y[i], want, 3e-7 * std::abs(want)) << grid[i] << " cap " << cap;
      }
    }
  }
}

TEST(SoftCapRowsTest, KeepsSignsInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> y = {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 0.0f};
  SoftCapRows(SimdKernels::ForThisCpu(), 1.0f, 30.0f, {y.data(), 1, 4, 4});
  EXPECT_EQ(y[0], 30.0f);
  EXPECT_EQ(y[1], -30.0f);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0.0f);
}

TEST(RoundRowsTest, RoundsAsTheScalarConversionDoes) {
  std::vector<float> x = RandomFloats(1000, 5);
  for (float value : {0.0f, -0.0f, std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(),
                      std::numeric_limits<float>::denorm_min(), 1.00390625f, 1.01171875f,
                      std::numeric_limits<float>::quiet_NaN()}) {
    x.push_back(value);
  }
  for (SimdLevel level : SupportedSimdLevels()) {
    LinearInputBuffer out(1, static_cast<int64_t>(x.size()), Precision::kBf16);
    RoundRows(SimdKernels(level), OneRow(x), out.view());
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(out.view().AsBf16().Row(0)[i], FloatToBf16(x[i])) << x[i];
  }
}

TEST(RoundRowsTest, QuantisesEachRowByItself) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t cols : {1, 7, 16, 63, 64, 65, 100, 896, 4032}) {
    // Random; halves of a step, which go to even; zeros; too small; just not; infinite; NaN.
    std::vector<float> x = RandomFloats(7 * cols, 8, 30.0f);
    const auto row = [&](int64_t i) { return x.begin() + i * cols; };
    for (int64_t j = 0; j < cols; ++j) row(1)[j] = static_cast<float>(j % 255 - 127) + 0.5f;
    row(1)[0] = -127.0f;
    std::fill_n(row(2), cols, -0.0f);
    std::fill_n(row(3), cols, 0x1.8p-120f);
    for (int64_t j = 0; j < cols; ++j) row(4)[j] = 0x1p-119f / static_cast<float>(j + 1);
    row(5)[cols - 1] = -kInfinity;
    row(6)[cols / 2] = -kNan;
    for (SimdLevel level : SupportedSimdLevels()) {
      LinearInputBuffer out(7, cols, Precision::kInt8);
      RoundRows(SimdKernels(level), {x.data(), 7, cols, cols}, out.view());
      for (int64_t i = 0; i < 7; ++i) ExpectRowOfBytes(out.view(), i, &x[i * cols]);
      EXPECT_EQ(out.view().RowScale(2), 0.0f);
      EXPECT_EQ(out.view().RowScale(3), 0.0f);
      EXPECT_GT(out.view().RowScale(4), 0.0f);
      EXPECT_TRUE(std::isnan(out.view().RowScale(5)));
      EXPECT_TRUE(std::isnan(out.view().RowScale(6)));
    }
  }
}

}  // namespace
}  // namespace phyllo
