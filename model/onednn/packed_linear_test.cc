#include "model/onednn/packed_linear.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/onednn/integer/quantize.h"
#include "model/onednn/linear_kernels.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/dtype.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using Layout = WeightSlice::Layout;

std::vector<float> RandomFloats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// What is left of a row of inputs or weights in a precision.
struct StoredRow {
  std::vector<float> values;  // f32, bf16
  std::vector<int> integers;  // int8, int4: the row is scale * integers
  float scale = 1.0f;

  double Value(size_t i) const {
    return integers.empty() ? double{values[i]} : double{scale} * integers[i];
  }
};

StoredRow Store(Precision precision, absl::Span<const float> row) {
  StoredRow stored;
  if (precision == Precision::kInt4) {
    std::vector<int8_t> q(row.size());
    std::vector<uint8_t> multipliers((row.size() + kInt4Group - 1) / kInt4Group);
    stored.scale = QuantizeToInt4(row, absl::MakeSpan(multipliers), absl::MakeSpan(q));
    for (size_t i = 0; i < q.size(); ++i)
      stored.integers.push_back(multipliers[i / kInt4Group] * q[i]);
    return stored;
  }
  if (precision == Precision::kInt8) {
    float largest = 0.0f;
    for (float value : row)
      largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : NAN;
    stored.scale = largest / 127.0f;
    for (float value : row) {
      const bool has_scale = stored.scale > 0.0f;
      stored.integers.push_back(has_scale ? static_cast<int>(std::lrint(value / stored.scale)) : 0);
    }
    return stored;
  }
  for (float value : row)
    stored.values.push_back(precision == Precision::kBf16 ? Bf16ToFloat(FloatToBf16(value))
                                                          : value);
  return stored;
}

std::vector<StoredRow> StoreRows(Precision precision, int64_t rows, int64_t k,
                                 absl::Span<const float> values) {
  std::vector<StoredRow> stored;
  for (int64_t i = 0; i < rows; ++i) stored.push_back(Store(precision, values.subspan(i * k, k)));
  return stored;
}

// A layer with its surroundings: weights W [n, k] and bias [n], packed whole.
class PackedLinearTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    const char* const max_isa = std::getenv("PHYLLO_MAX_ISA");
    if (max_isa != nullptr && !absl::EqualsIgnoreCase(max_isa, "DEFAULT") &&
        !absl::EqualsIgnoreCase(max_isa, IsaName()))
      GTEST_SKIP() << "this CPU has no " << max_isa << " but " << IsaName();
    for (int threads : {1, 2})
      pools_.push_back(ThreadPool::Create({.num_threads = threads}).value());
    scratch_ = std::make_unique<LinearScratch>(LinearScratch::Create(2, arena_).value());
  }

  PackedLinear MakeEmpty(int64_t k, int64_t n) {
    return PackedLinear::Create({.in_features = k, .out_features = n, .precision = GetParam()},
                                kernels_, arena_)
        .value();
  }

  // Packs w [n, k] and, unless it is empty, bias [n].
  PackedLinear Make(int64_t k, int64_t n, const std::vector<float>& w,
                    const std::vector<float>& bias) {
    PackedLinear linear = MakeEmpty(k, n);
    EXPECT_THAT(
        linear.PackRows(
            0, {.data = w.data(), .dtype = DType::kF32, .out_features = n, .in_features = k}),
        IsOk());
    EXPECT_THAT(linear.PackBias(0, bias), IsOk());
    return linear;
  }

  // x [m, k] as the layer's input, padded with zeros.
  LinearInput MakeInput(int64_t m, int64_t k, const std::vector<float>& x) {
    const Precision precision = InputPrecision(GetParam());
    LinearInput input{precision, arena_.Allocate(LinearInput::BytesFor(m, k, precision)).value(), m,
                      k};
    for (int64_t i = 0; i < m; ++i) {
      const StoredRow row = Store(precision, absl::MakeConstSpan(x).subspan(i * k, k));
      if (precision == Precision::kInt8) {
        uint8_t* const bytes = input.AsInt8().Row(i);
        std::memset(bytes, LinearInput::kInt8Zero, input.stride() - RowScaleBytes(precision));
        for (int64_t j = 0; j < k; ++j)
          bytes[j] = static_cast<uint8_t>(row.integers[j] + LinearInput::kInt8Zero);
        input.RowScale(i) = row.scale;
      } else if (precision == Precision::kF32) {
        std::copy(row.values.begin(), row.values.end(), input.AsF32().Row(i));
      } else {
        for (int64_t j = 0; j < k; ++j) input.AsBf16().Row(i)[j] = FloatToBf16(row.values[j]);
      }
    }
    return input;
  }

  // y [m, n] dense, by `threads` threads.
  std::vector<float> Forward(const PackedLinear& linear, const LinearInput& x, int threads) {
    std::vector<float> y(static_cast<size_t>(x.rows * linear.out_features()),
                         std::numeric_limits<float>::quiet_NaN());
    linear.Forward(x, {y.data(), x.rows, linear.out_features(), linear.out_features()},
                   *pools_[static_cast<size_t>(threads - 1)], *scratch_);
    return y;
  }

  // |y - reference| is bounded by the rounding of k products in f32: k * 2^-24 of the sum of
  // absolute values, times 2 for the last operations.
  void ExpectNearReference(const std::vector<float>& y, int64_t m, int64_t k, int64_t n,
                           const std::vector<float>& x, const std::vector<float>& w,
                           const std::vector<float>& bias) {
    ASSERT_EQ(y.size(), static_cast<size_t>(m * n));
    const std::vector<StoredRow> x_rows = StoreRows(InputPrecision(GetParam()), m, k, x);
    const std::vector<StoredRow> w_rows = StoreRows(GetParam(), n, k, w);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = bias.empty() ? 0.0 : bias[static_cast<size_t>(j)];
        double magnitude = std::abs(sum);
        for (int64_t l = 0; l < k; ++l) {
          const double product = x_rows[i].Value(l) * w_rows[j].Value(l);
          sum += product;
          magnitude += std::abs(product);
        }
        const double tolerance =
            magnitude * 0x1p-23 * std::sqrt(static_cast<double>(k) + 1) + 1e-30;
        ASSERT_NEAR(y[static_cast<size_t>(i * n + j)], sum, tolerance)
            << "m " << m << " k " << k << " n " << n << " at " << i << ", " << j;
      }
    }
  }

  HugePageArena arena_;
  LinearKernels kernels_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  std::unique_ptr<LinearScratch> scratch_;
};

TEST_P(PackedLinearTest, MatchesReferenceAtOddSizes) {
  const std::pair<int64_t, int64_t> sizes[] = {{1, 1},     {12, 7},   {33, 64},    {72, 100},
                                               {100, 509}, {256, 65}, {1000, 130}, {5000, 70}};
  for (const auto& [k, n] : sizes) {
    const std::vector<float> w = RandomFloats(n * k, 1);
    const std::vector<float> bias = RandomFloats(n, 2);
    const PackedLinear linear = Make(k, n, w, bias);
    for (int64_t m : {1, 2, 3, 5, 17, 31, 32, 33, 70}) {
      const std::vector<float> x = RandomFloats(m * k, static_cast<uint32_t>(m));
      ExpectNearReference(Forward(linear, MakeInput(m, k, x), 2), m, k, n, x, w, bias);
    }
  }
}

TEST_P(PackedLinearTest, AddsNothingWhenBiasIsNotPacked) {
  const std::vector<float> w = RandomFloats(40 * 24, 1);
  const std::vector<float> x = RandomFloats(3 * 24, 2);
  ExpectNearReference(Forward(Make(24, 40, w, {}), MakeInput(3, 24, x), 1), 3, 24, 40, x, w, {});
}

TEST_P(PackedLinearTest, GivesEachRowTheSameBitsAloneAndInAnyBatch) {
  const std::pair<int64_t, int64_t> sizes[] = {
      {12, 36}, {72, 200}, {512, 1408}, {896, 1152}, {4864, 130}};
  for (const auto& [k, n] : sizes) {
    const PackedLinear linear = Make(k, n, RandomFloats(n * k, 3), RandomFloats(n, 4));
    constexpr int64_t kRows = 300;
    const LinearInput x = MakeInput(kRows, k, RandomFloats(kRows * k, 5));
    const std::vector<float> alone = [&] {
      std::vector<float> rows;
      for (int64_t i = 0; i < kRows; ++i) {
        const std::vector<float> row = Forward(linear, x.SubRows(i, 1), 1);
        rows.insert(rows.end(), row.begin(), row.end());
      }
      return rows;
    }();
    for (int threads : {1, 2}) {
      for (int64_t m = 2; m <= 64; ++m) {
        const std::vector<float> batch = Forward(linear, x.SubRows(m, m), threads);
        ASSERT_EQ(std::memcmp(batch.data(), alone.data() + m * n, batch.size() * sizeof(float)), 0)
            << "k " << k << " n " << n << " m " << m;
      }
      const std::vector<float> all = Forward(linear, x, threads);
      ASSERT_EQ(std::memcmp(all.data(), alone.data(), all.size() * sizeof(float)), 0)
          << "k " << k << " n " << n;
    }
  }
}

TEST_P(PackedLinearTest, KeepsNanAndInfinityInTheirRows) {
  constexpr int64_t kM = 40, kK = 72, kN = 100;
  const PackedLinear linear = Make(kK, kN, RandomFloats(kN * kK, 6), {});
  std::vector<float> x = RandomFloats(kM * kK, 7);
  const std::vector<float> clean = Forward(linear, MakeInput(kM, kK, x), 2);
  x[3 * kK + 5] = std::numeric_limits<float>::quiet_NaN();
  x[34 * kK + 70] = std::numeric_limits<float>::infinity();
  const std::vector<float> y = Forward(linear, MakeInput(kM, kK, x), 2);
  for (int64_t i = 0; i < kM; ++i) {
    if (i == 3 || i == 34) {
      for (int64_t j = 0; j < kN; ++j)
        EXPECT_FALSE(std::isfinite(y[static_cast<size_t>(i * kN + j)]));
    } else {
      EXPECT_EQ(std::memcmp(&y[static_cast<size_t>(i * kN)], &clean[static_cast<size_t>(i * kN)],
                            kN * sizeof(float)),
                0)
          << "row " << i;
    }
  }
}

TEST_P(PackedLinearTest, PacksTransposedWeights) {
  constexpr int64_t kM = 9, kK = 75, kN = 133;
  const std::vector<float> w = RandomFloats(kN * kK, 8);
  std::vector<float> transposed(w.size());
  for (int64_t j = 0; j < kN; ++j) {
    for (int64_t l = 0; l < kK; ++l)
      transposed[static_cast<size_t>(l * kN + j)] = w[static_cast<size_t>(j * kK + l)];
  }
  PackedLinear linear = MakeEmpty(kK, kN);
  PHYLLO_ASSERT_OK(linear.PackRows(0, {.data = transposed.data(),
                                       .dtype = DType::kF32,
                                       .layout = Layout::kInOut,
                                       .out_features = kN,
                                       .in_features = kK}));
  const LinearInput x = MakeInput(kM, kK, RandomFloats(kM * kK, 9));
  EXPECT_EQ(Forward(linear, x, 1), Forward(Make(kK, kN, w, {}), x, 1));
}

TEST_P(PackedLinearTest, PacksTransposedSlicesOfAWiderTensor) {
  // The k_proj third of a fused Conv1D tensor [k, 3 n].
  constexpr int64_t kK = 20, kN = 30;
  const std::vector<float> fused = RandomFloats(kK * 3 * kN, 8);
  std::vector<float> w(kN * kK);
  for (int64_t j = 0; j < kN; ++j) {
    for (int64_t l = 0; l < kK; ++l)
      w[static_cast<size_t>(j * kK + l)] = fused[static_cast<size_t>(l * 3 * kN + kN + j)];
  }
  PackedLinear linear = MakeEmpty(kK, kN);
  PHYLLO_ASSERT_OK(linear.PackRows(0, {.data = fused.data() + kN,
                                       .dtype = DType::kF32,
                                       .layout = Layout::kInOut,
                                       .out_features = kN,
                                       .in_features = kK,
                                       .stride = 3 * kN}));
  const LinearInput x = MakeInput(4, kK, RandomFloats(4 * kK, 9));
  EXPECT_EQ(Forward(linear, x, 1), Forward(Make(kK, kN, w, {}), x, 1));
}

TEST_P(PackedLinearTest, FusesTensorsAlongOutFeatures) {
  constexpr int64_t kM = 5, kK = 50;
  const std::vector<int64_t> parts = {100, 20, 20};
  PackedLinear fused = MakeEmpty(kK, 140);
  const LinearInput x = MakeInput(kM, kK, RandomFloats(kM * kK, 10));
  std::vector<std::vector<float>> separate;
  int64_t begin = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    const std::vector<float> w = RandomFloats(parts[p] * kK, static_cast<uint32_t>(20 + p));
    const std::vector<float> bias = RandomFloats(parts[p], static_cast<uint32_t>(30 + p));
    PHYLLO_ASSERT_OK(fused.PackRows(
        begin,
        {.data = w.data(), .dtype = DType::kF32, .out_features = parts[p], .in_features = kK}));
    PHYLLO_ASSERT_OK(fused.PackBias(begin, bias));
    separate.push_back(Forward(Make(kK, parts[p], w, bias), x, 1));
    begin += parts[p];
  }
  const std::vector<float> y = Forward(fused, x, 1);
  for (int64_t i = 0; i < kM; ++i) {
    begin = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int64_t j = 0; j < parts[p]; ++j) {
        ASSERT_EQ(y[static_cast<size_t>(i * 140 + begin + j)],
                  separate[p][static_cast<size_t>(i * parts[p] + j)]);
      }
      begin += parts[p];
    }
  }
}

TEST_P(PackedLinearTest, WidensStoredHalfPrecisionExactly) {
  constexpr int64_t kK = 40, kN = 70;
  const LinearInput x = MakeInput(3, kK, RandomFloats(3 * kK, 12));
  for (DType dtype : {DType::kF16, DType::kBf16}) {
    std::vector<uint16_t> stored(kN * kK);
    ConvertFromFloat(RandomFloats(kN * kK, 11), dtype, stored.data());
    std::vector<float> widened(stored.size());
    ConvertToFloat(dtype, stored.data(), absl::MakeSpan(widened));
    PackedLinear linear = MakeEmpty(kK, kN);
    PHYLLO_ASSERT_OK(linear.PackRows(
        0, {.data = stored.data(), .dtype = dtype, .out_features = kN, .in_features = kK}));
    EXPECT_EQ(Forward(linear, x, 1), Forward(Make(kK, kN, widened, {}), x, 1)) << DTypeName(dtype);
  }
}

TEST_P(PackedLinearTest, AddsToTheOutputWhenAskedTo) {
  constexpr int64_t kM = 35, kK = 48, kN = 80, kStride = 96;
  const PackedLinear linear = Make(kK, kN, RandomFloats(kN * kK, 13), RandomFloats(kN, 14));
  const LinearInput x = MakeInput(kM, kK, RandomFloats(kM * kK, 15));
  const std::vector<float> product = Forward(linear, x, 1);
  const std::vector<float> residual = RandomFloats(kM * kStride, 16);
  std::vector<float> y = residual;
  linear.ForwardAdd(x, {y.data(), kM, kN, kStride}, *pools_[1], *scratch_);
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kStride; ++j) {
      const size_t at = static_cast<size_t>(i * kStride + j);
      const float expected =
          j < kN ? residual[at] + product[static_cast<size_t>(i * kN + j)] : residual[at];
      ASSERT_EQ(y[at], expected) << i << ", " << j;
    }
  }
}

TEST_P(PackedLinearTest, GivesTheSameBitsToAllProductsAtOnce) {
  // Of different widths and row counts, none among them; the last one has no rows.
  struct Shape {
    int64_t k, n, m;
  };
  const Shape shapes[] = {{72, 200, 1}, {72, 200, 0}, {12, 36, 5}, {512, 65, 300}, {8, 8, 0}};
  std::vector<PackedLinear> linears;
  linears.reserve(std::size(shapes));
  std::vector<LinearProduct> products;
  std::vector<std::vector<float>> expected, got;
  for (const auto& [k, n, m] : shapes) {
    linears.push_back(Make(k, n, RandomFloats(n * k, 3), RandomFloats(n, 4)));
    const LinearInput x = MakeInput(m, k, RandomFloats(m * k, 5));
    expected.push_back(Forward(linears.back(), x, 1));
    got.emplace_back(m * n, std::numeric_limits<float>::quiet_NaN());
    products.push_back({.linear = &linears.back(), .x = x, .y = {got.back().data(), m, n, n}});
  }
  for (int threads : {1, 2}) {
    for (std::vector<float>& y : got) std::fill(y.begin(), y.end(), NAN);
    PackedLinear::ForwardAll(absl::MakeSpan(products), *pools_[static_cast<size_t>(threads - 1)],
                             *scratch_);
    EXPECT_EQ(got, expected) << threads << " threads";
  }
}

TEST_P(PackedLinearTest, ShowsTheSameBitsInTiles) {
  constexpr int64_t kK = 72, kN = 200;
  const PackedLinear linear = Make(kK, kN, RandomFloats(kN * kK, 17), RandomFloats(kN, 18));
  for (const int64_t m : {1, 5, 33, 300}) {
    const LinearInput x = MakeInput(m, kK, RandomFloats(m * kK, 19));
    const std::vector<float> expected = Forward(linear, x, 1);
    std::vector<float> got(expected.size(), NAN);
    const auto copy = [&](MatrixView<float> tile, int64_t row, int64_t column, int /*worker*/) {
      for (int64_t i = 0; i < tile.rows; ++i)
        std::copy_n(tile.Row(i), tile.cols, got.data() + (row + i) * kN + column);
    };
    linear.ForwardTiles(x, copy, *pools_[1], *scratch_);
    EXPECT_EQ(got, expected) << m << " rows";
  }
}

TEST_P(PackedLinearTest, AcceptsNoRows) {
  const PackedLinear linear = Make(8, 8, RandomFloats(64, 1), {});
  EXPECT_TRUE(Forward(linear, MakeInput(0, 8, {}), 2).empty());
}

TEST_P(PackedLinearTest, ReturnsInvalidArgumentWhenAWeightDoesNotFit) {
  PackedLinear linear = MakeEmpty(8, 16);
  const std::vector<float> w(16 * 9);
  EXPECT_THAT(
      linear.PackRows(
          1, {.data = w.data(), .dtype = DType::kF32, .out_features = 16, .in_features = 8}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("weight rows 1 to 17")));
  EXPECT_THAT(
      linear.PackRows(
          0, {.data = w.data(), .dtype = DType::kF32, .out_features = 16, .in_features = 9}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("9 input features, not 8")));
  EXPECT_THAT(
      linear.PackRows(
          0, {.data = w.data(), .dtype = DType::kI32, .out_features = 16, .in_features = 8}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("I32")));
  EXPECT_THAT(linear.PackBias(9, std::vector<float>(8)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bias rows 9 to 17")));
}

TEST_P(PackedLinearTest, ReturnsInvalidArgumentWhenASizeIsZero) {
  EXPECT_THAT(PackedLinear::Create({.in_features = 0, .out_features = 4, .precision = GetParam()},
                                   kernels_, arena_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in_features is 0")));
  EXPECT_THAT(PackedLinear::Create({.in_features = 4, .out_features = 0, .precision = GetParam()},
                                   kernels_, arena_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("out_features is 0")));
}

std::string PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return "F32";
    case Precision::kBf16:
      return "Bf16";
    case Precision::kInt8:
      return "Int8";
    default:
      return "Int4";
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, PackedLinearTest,
                         ::testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8,
                                           Precision::kInt4),
                         [](const auto& info) { return PrecisionName(info.param); });

// The integer precisions, whose results are known to the last bit.
class PackedLinearIntegerTest : public PackedLinearTest {};

TEST_P(PackedLinearIntegerTest, GivesTheBitsOfTheIntegerSumOnEveryInstructionSet) {
  const std::pair<int64_t, int64_t> sizes[] = {{1, 3}, {63, 65}, {100, 70}, {9000, 67}};
  for (const auto& [k, n] : sizes) {
    std::vector<float> w = RandomFloats(n * k, 1);
    for (int64_t l = 0; l < k; ++l) w[k + l] = w[k];  // the second feature has the largest sum
    const std::vector<float> bias = RandomFloats(n, 2);
    const PackedLinear linear = Make(k, n, w, bias);
    const std::vector<StoredRow> w_rows = StoreRows(GetParam(), n, k, w);
    for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 13, 31, 40}) {
      std::vector<float> x = RandomFloats(m * k, static_cast<uint32_t>(m));
      std::fill(x.begin(), x.begin() + k, m % 2 == 0 ? 3.0f : -3.0f);
      const std::vector<StoredRow> x_rows = StoreRows(Precision::kInt8, m, k, x);
      const std::vector<float> y = Forward(linear, MakeInput(m, k, x), 2);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          int32_t sum = 0;
          for (int64_t l = 0; l < k; ++l) sum += x_rows[i].integers[l] * w_rows[j].integers[l];
          ASSERT_EQ(y[i * n + j],
                    std::fma(static_cast<float>(sum), x_rows[i].scale * w_rows[j].scale, bias[j]))
              << "m " << m << " k " << k << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST_P(PackedLinearIntegerTest, GivesTheBiasWhereWeightsOrInputsAreZero) {
  const std::vector<float> bias = {1.0f, 2.0f, 3.0f};
  std::vector<float> w = RandomFloats(3 * 40, 1);
  std::fill(w.begin() + 40, w.begin() + 80, 0.0f);
  std::vector<float> x = RandomFloats(2 * 40, 2);
  std::fill(x.begin() + 40, x.end(), 0.0f);
  const std::vector<float> y = Forward(Make(40, 3, w, bias), MakeInput(2, 40, x), 1);
  EXPECT_EQ(y[1], 2.0f);
  EXPECT_EQ(absl::MakeConstSpan(y).subspan(3), absl::MakeConstSpan(bias));
}

TEST_P(PackedLinearIntegerTest, ReturnsInvalidArgumentWhenSumsCouldExceed32Bits) {
  static_assert(LinearKernels::kMaxInt8InFeatures == 66311);
  EXPECT_THAT(
      PackedLinear::Create({.in_features = 66312, .out_features = 1, .precision = GetParam()},
                           kernels_, arena_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("in_features is 66312, must be 1 to 66311, or sums of bytes do not fit")));
  PHYLLO_EXPECT_OK(PackedLinear::Create(
      {.in_features = 66311, .out_features = 1, .precision = GetParam()}, kernels_, arena_));
}

INSTANTIATE_TEST_SUITE_P(Precisions, PackedLinearIntegerTest,
                         ::testing::Values(Precision::kInt8, Precision::kInt4),
                         [](const auto& info) { return PrecisionName(info.param); });

}  // namespace
}  // namespace phyllo
