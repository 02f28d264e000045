#include "model/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/ops/simd_kernels.h"
#include "model/ops/testing/op_test_data.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/dtype.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

struct Shape {
  int64_t h, kv, hd, page_size;
  Precision precision;
  std::optional<int64_t> sliding_window = std::nullopt;
  float soft_cap = 0.0f;
};

// Keys or values [n, kv, hd] as a page holds them.
std::vector<double> AsStored(const std::vector<float>& values, const Shape& shape) {
  std::vector<double> stored;
  for (auto head = values.begin(); head != values.end(); head += shape.hd) {
    float largest = 0.0f;
    for (auto x = head; x != head + shape.hd; ++x) largest = std::max(largest, std::abs(*x));
    const float scale = largest / 127.0f;
    for (auto x = head; x != head + shape.hd; ++x) {
      if (shape.precision == Precision::kF32)
        stored.push_back(*x);
      else if (shape.precision == Precision::kBf16)
        stored.push_back(Bf16ToFloat(FloatToBf16(*x)));
      else
        stored.push_back(static_cast<double>(std::nearbyint(*x * (1.0f / scale))) * scale);
    }
  }
  return stored;
}

// The q, k and v of one sequence of n tokens, and what attention makes of them in any division into
// steps.
class Sequence {
 public:
  Sequence(const Shape& shape, int64_t n, uint32_t seed)
      : shape_(shape),
        n_(n),
        q_(RandomFloats(n * shape.h * shape.hd, seed)),
        k_(RandomFloats(n * shape.kv * shape.hd, seed + 1)),
        v_(RandomFloats(n * shape.kv * shape.hd, seed + 2)),
        stored_k_(AsStored(k_, shape)),
        stored_v_(AsStored(v_, shape)) {}

  struct Result {
    std::vector<double> out;      // softmax(cap(scale q k)) v, [hd]
    std::vector<double> largest;  // softmax(cap(scale q k)) |v|, [hd]
  };
  // In double for query row `position`, head `head`; of scale q rounded to bf16 if `round_q`.
  Result Reference(int64_t position, int64_t head, float scale, bool round_q) const {
    const int64_t kv_head = head / (shape_.h / shape_.kv);
    const int64_t first =
        std::max<int64_t>(0, position + 1 - shape_.sliding_window.value_or(position + 1));
    std::vector<double> scores;
    for (int64_t t = first; t <= position; ++t) {
      double score = 0;
      for (int64_t e = 0; e < shape_.hd; ++e) {
        const float q =
            scale * q_[static_cast<size_t>((position * shape_.h + head) * shape_.hd + e)];
        score += static_cast<double>(round_q ? Bf16ToFloat(FloatToBf16(q)) : q) *
                 Stored(stored_k_, t, kv_head, e);
      }
      if (shape_.soft_cap > 0) score = shape_.soft_cap * std::tanh(score / shape_.soft_cap);
      scores.push_back(score);
    }
    const double max = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - max);
    Result result = {std::vector<double>(shape_.hd), std::vector<double>(shape_.hd)};
    for (int64_t t = first; t <= position; ++t) {
      const double weight = scores[static_cast<size_t>(t - first)] / sum;
      for (int64_t e = 0; e < shape_.hd; ++e) {
        const double value = Stored(stored_v_, t, kv_head, e);
        result.out[static_cast<size_t>(e)] += weight * value;
        result.largest[static_cast<size_t>(e)] += weight * std::abs(value);
      }
    }
    return result;
  }

  int64_t n() const { return n_; }
  MatrixView<float> q() { return {q_.data(), n_, shape_.h * shape_.hd, shape_.h * shape_.hd}; }
  MatrixView<float> k() { return {k_.data(), n_, shape_.kv * shape_.hd, shape_.kv * shape_.hd}; }
  MatrixView<float> v() { return {v_.data(), n_, shape_.kv * shape_.hd, shape_.kv * shape_.hd}; }

 private:
  double Stored(const std::vector<double>& values, int64_t t, int64_t kv_head, int64_t e) const {
    return values[static_cast<size_t>((t * shape_.kv + kv_head) * shape_.hd + e)];
  }

  Shape shape_;
  int64_t n_;
  std::vector<float> q_, k_, v_;
  std::vector<double> stored_k_, stored_v_;  // as pages hold them
};

constexpr int64_t kPages = 40;

// A cache of kPages pages of one layer, all slots NaN, and the means to attend to it.
class Runner {
 public:
  explicit Runner(const Shape& shape, SimdKernels kernels = SimdKernels::ForThisCpu(),
                  int threads = 1)
      : kernels_(kernels),
        shape_(shape),
        pool_(ThreadPool::Create({.num_threads = threads}).value()) {
    layer_.layout = {shape.kv, shape.hd, shape.page_size, shape.precision};
    layer_.page_stride = layer_.layout.page_bytes();
    layer_.base = arena_.Allocate(kPages * layer_.page_stride).value();
    std::memset(layer_.base, 0xff,
                static_cast<size_t>(kPages * layer_.page_stride));  // NaN, also as a scale
    scratch_ = std::make_unique<AttentionScratch>(
        AttentionScratch::Create(layer_.layout, threads, 8, arena_).value());
    page_table_.resize(kPages);
    std::iota(page_table_.begin(), page_table_.end(), 0);
  }

  void set_page_table(std::vector<int32_t> page_table) { page_table_ = std::move(page_table); }

  // One step over tokens [begin, end) of `sequence`: out rows in `precision`, [end - begin] rows as
  // bytes.
  std::string Step(Sequence& sequence, int64_t begin, int64_t end,
                   Precision precision = Precision::kF32) {
    const int64_t rows = end - begin;
    const SequenceSlice slice{0, rows, begin, page_table_};
    WriteKv(kernels_, sequence.k().SubRows(begin, rows), sequence.v().SubRows(begin, rows),
            {&slice, 1}, layer_, *pool_);
    return Attention(sequence.q().SubRows(begin, rows), {&slice, 1}, precision);
  }

  std::string Attention(MatrixView<const float> queries, absl::Span<const SequenceSlice> slices,
                        Precision precision) {
    std::vector<float> copy(queries.data, queries.data + queries.rows * queries.stride);
    const MatrixView<float> q{copy.data(), queries.rows, queries.cols, queries.stride};
    LinearInput out{precision,
                    arena_.Allocate(LinearInput::BytesFor(q.rows, q.cols, precision)).value(),
                    q.rows, q.cols};
    std::memset(out.data, 0xff,
                static_cast<size_t>(LinearInput::BytesFor(q.rows, q.cols, precision)));
    Attend(kernels_,
           {.num_attention_heads = shape_.h,
            .scale = Scale(),
            .sliding_window = shape_.sliding_window,
            .soft_cap = shape_.soft_cap},
           q, slices, layer_, out, *pool_, *scratch_);
    return std::string(static_cast<const char*>(out.data),
                       static_cast<size_t>(q.rows * out.row_bytes()));
  }

  // All tokens in steps of `chunk`.
  std::string InChunks(Sequence& sequence, int64_t chunk) {
    std::string rows;
    for (int64_t begin = 0; begin < sequence.n(); begin += chunk)
      rows += Step(sequence, begin, std::min(sequence.n(), begin + chunk));
    return rows;
  }

  float Scale() const { return 1.0f / std::sqrt(static_cast<float>(shape_.hd)); }
  const KvLayer& layer() const { return layer_; }
  ThreadPool& pool() { return *pool_; }
  const SimdKernels& kernels() const { return kernels_; }

 private:
  SimdKernels kernels_;
  Shape shape_;
  HugePageArena arena_;
  std::unique_ptr<ThreadPool> pool_;
  KvLayer layer_;
  std::unique_ptr<AttentionScratch> scratch_;
  std::vector<int32_t> page_table_;
};

const Shape kShapes[] = {
    {4, 2, 64, 64, Precision::kF32},
    {14, 2, 64, 64, Precision::kBf16},
    {3, 3, 20, 16, Precision::kF32},
    {3, 3, 20, 16, Precision::kBf16},
    {36, 1, 48, 48, Precision::kF32},
    {8, 4, 128, 32, Precision::kBf16},
    {2, 1, 7, 32, Precision::kF32},
    {2, 1, 7, 32, Precision::kBf16},
    // Windows of one key, less than a page, a page exactly, more than one, and more than there are.
    {3, 3, 20, 16, Precision::kF32, 1},
    {4, 2, 64, 64, Precision::kF32, 5},
    {14, 2, 64, 16, Precision::kBf16, 16},
    {3, 3, 7, 32, Precision::kBf16, 5},
    {6, 1, 24, 16, Precision::kBf16, 43, 2.0f},
    {6, 1, 24, 16, Precision::kF32, 43, 2.0f},
    {2, 1, 7, 32, Precision::kF32, 1000},
    {4, 2, 64, 64, Precision::kBf16, std::nullopt, 1.5f},
    {14, 2, 64, 64, Precision::kInt8},
    {9, 1, 20, 16, Precision::kInt8},
    {3, 3, 7, 32, Precision::kInt8, 43, 2.0f},
};

std::string PrecisionName(Precision precision) {
  return precision == Precision::kF32 ? "F32" : precision == Precision::kBf16 ? "Bf16" : "Int8";
}

class AttentionTest : public ::testing::TestWithParam<Shape> {};

TEST_P(AttentionTest, MatchesTheDoubleReference) {
  const Shape& shape = GetParam();
  Sequence sequence(shape, 150, 1);
  for (const SimdLevel level : SupportedSimdLevels()) {
    Runner runner(shape, SimdKernels(level));
    const bool rounds = level == SimdLevel::kX86V4Bf16 && shape.precision == Precision::kBf16;
    const std::string bytes = runner.InChunks(sequence, 150);
    const auto* const rows = reinterpret_cast<const float*>(bytes.data());
    const int64_t stride = LinearInputStride(shape.h * shape.hd, Precision::kF32);
    for (int64_t i = 0; i < sequence.n(); ++i) {
      for (int64_t head = 0; head < shape.h; ++head) {
        const Sequence::Result want = sequence.Reference(i, head, runner.Scale(), rounds);
        for (int64_t e = 0; e < shape.hd; ++e) {
          // Scores up to about 5 carry an error of some 1e-6, which the exponential turns into a
          // relative one; values are of order 1. A weight in bf16 is wrong by up to 2^-8.
          const double tolerance = 5e-6 + (rounds ? 0x1p-8 * want.largest[e] : 0.0);
          ASSERT_NEAR(rows[i * stride + head * shape.hd + e], want.out[e], tolerance)
              << i << ", " << head << ", " << e;
        }
      }
      for (int64_t j = shape.h * shape.hd; j < stride; ++j)
        ASSERT_EQ(rows[i * stride + j], 0.0f) << "padding";
    }
  }
}

TEST_P(AttentionTest, GivesTheSameBitsInAnyChunks) {
  const Shape& shape = GetParam();
  Sequence sequence(shape, 150, 2);
  for (const SimdLevel level : SupportedSimdLevels()) {
    const SimdKernels kernels(level);
    const std::string whole = Runner(shape, kernels).InChunks(sequence, 150);
    for (int64_t chunk : {1, 7, 64})
      EXPECT_EQ(Runner(shape, kernels).InChunks(sequence, chunk), whole) << "chunks of " << chunk;
  }
}

TEST_P(AttentionTest, GivesTheSameBitsWithAnyPages) {
  const Shape& shape = GetParam();
  Sequence sequence(shape, 150, 3);
  Runner permuted(shape);
  std::vector<int32_t> page_table(kPages);
  std::iota(page_table.begin(), page_table.end(), 0);
  std::shuffle(page_table.begin(), page_table.end(), std::mt19937(4));
  permuted.set_page_table(page_table);
  EXPECT_EQ(permuted.InChunks(sequence, 50), Runner(shape).InChunks(sequence, 50));
}

// More threads than tasks of full size divide the heads of a token, too.
TEST_P(AttentionTest, GivesTheSameBitsWithAnyThreads) {
  const Shape& shape = GetParam();
  Sequence sequence(shape, 150, 5);
  const std::string want = Runner(shape).InChunks(sequence, 150);
  EXPECT_EQ(Runner(shape, SimdKernels::ForThisCpu(), 2).InChunks(sequence, 64), want);
  EXPECT_EQ(Runner(shape, SimdKernels::ForThisCpu(), 5).InChunks(sequence, 5), want);
}

TEST_P(AttentionTest, GivesTheSameBitsWithAvx2AndAvx512) {
  if (SupportedSimdLevels().size() < 2) GTEST_SKIP() << "this CPU has no AVX-512";
  const Shape& shape = GetParam();
  Sequence sequence(shape, 150, 6);
  EXPECT_EQ(Runner(shape, SimdKernels(SimdLevel::kX86V3)).InChunks(sequence, 64),
            Runner(shape, SimdKernels(SimdLevel::kX86V4)).InChunks(sequence, 64));
}

TEST_P(AttentionTest, RoundsTheOutputToBf16) {
  const Shape& shape = GetParam();
  Sequence sequence(shape, 20, 7);
  const std::string wide = Runner(shape).Step(sequence, 0, 20, Precision::kF32);
  const std::string narrow = Runner(shape).Step(sequence, 0, 20, Precision::kBf16);
  const int64_t cols = shape.h * shape.hd;
  const int64_t narrow_stride = LinearInputStride(cols, Precision::kBf16);
  for (int64_t i = 0; i < 20; ++i) {
    const auto* const wide_row =
        reinterpret_cast<const float*>(wide.data()) + i * LinearInputStride(cols, Precision::kF32);
    const auto* const narrow_row =
        reinterpret_cast<const uint16_t*>(narrow.data()) + i * narrow_stride;
    for (int64_t j = 0; j < narrow_stride; ++j)
      ASSERT_EQ(narrow_row[j], j < cols ? FloatToBf16(wide_row[j]) : 0) << i << ", " << j;
  }
}

TEST_P(AttentionTest, WritesTheResultsInF32AsBytes) {
  const Shape& shape = GetParam();
  Sequence sequence(shape, 20, 12);
  const int64_t cols = shape.h * shape.hd;
  for (const int64_t chunk : {1, 20}) {
    Runner wide_runner(shape), runner(shape, SimdKernels::ForThisCpu(), 2);
    for (int64_t begin = 0; begin < 20; begin += chunk) {
      const std::string wide = wide_runner.Step(sequence, begin, begin + chunk);
      std::string bytes = runner.Step(sequence, begin, begin + chunk, Precision::kInt8);
      const LinearInput out{Precision::kInt8, bytes.data(), chunk, cols};
      for (int64_t i = 0; i < chunk; ++i) {
        ExpectRowOfBytes(out, i,
                         reinterpret_cast<const float*>(wide.data()) +
                             i * LinearInputStride(cols, Precision::kF32));
      }
    }
  }
}

TEST_P(AttentionTest, GivesASequenceTheSameBitsAloneAndInABatch) {
  const Shape& shape = GetParam();
  Sequence first(shape, 70, 8);
  Sequence second(shape, 90, 9);
  const std::string alone_first = Runner(shape).InChunks(first, 70);
  const std::string alone_second = Runner(shape).InChunks(second, 90);

  Runner runner(shape, SimdKernels::ForThisCpu(), 2);
  std::vector<int32_t> first_pages, second_pages;
  for (int32_t page = 0; page < kPages; ++page)
    (page % 2 == 0 ? first_pages : second_pages).push_back(page);
  std::vector<float> q, k, v;
  const auto append = [](std::vector<float>& rows, MatrixView<float> more) {
    rows.insert(rows.end(), more.data, more.data + more.rows * more.stride);
  };
  append(q, second.q()), append(q, first.q());
  append(k, second.k()), append(k, first.k());
  append(v, second.v()), append(v, first.v());
  const SequenceSlice slices[] = {{0, 90, 0, second_pages}, {90, 70, 0, first_pages}};
  const int64_t kv_cols = shape.kv * shape.hd;
  WriteKv(runner.kernels(), {k.data(), 160, kv_cols, kv_cols}, {v.data(), 160, kv_cols, kv_cols},
          slices, runner.layer(), runner.pool());
  const int64_t cols = shape.h * shape.hd;
  EXPECT_EQ(runner.Attention({q.data(), 160, cols, cols}, slices, Precision::kF32),
            alone_second + alone_first);
}

TEST_P(AttentionTest, KeepsANanFromRowsThatDoNotSeeIt) {
  const Shape& shape = GetParam();
  Sequence sequence(shape, 40, 10);
  const std::string clean = Runner(shape).InChunks(sequence, 40);
  for (int64_t c = 0; c < shape.kv * shape.hd; ++c)
    sequence.k().Row(23)[c] = sequence.v().Row(23)[c] = std::numeric_limits<float>::quiet_NaN();
  const std::string poisoned = Runner(shape).InChunks(sequence, 40);
  const auto row_bytes =
      static_cast<size_t>(LinearInputStride(shape.h * shape.hd, Precision::kF32) * 4);
  const auto end =
      static_cast<size_t>(std::min<int64_t>(40, 23 + shape.sliding_window.value_or(40)));
  EXPECT_EQ(poisoned.substr(0, 23 * row_bytes), clean.substr(0, 23 * row_bytes));
  EXPECT_EQ(poisoned.substr(end * row_bytes), clean.substr(end * row_bytes));
  for (size_t i = 23; i < end; ++i) {
    float value;
    std::memcpy(&value, poisoned.data() + i * row_bytes, sizeof(value));
    EXPECT_TRUE(std::isnan(value)) << "row " << i;
  }
}

// What bytes cost. The keys and values are normal, so that the largest of 64 is about 2.4 and the
// step 0.019, whose roundings have a root mean square of 0.0055. A value's error is that, averaged
// over the keys that count; a score's is 0.0055, and as much again comes of it.
TEST(Int8KvTest, StaysCloseToF32) {
  const Shape f32 = {8, 2, 64, 64, Precision::kF32};
  Shape int8 = f32;
  int8.precision = Precision::kInt8;
  Sequence sequence(f32, 150, 13), same(int8, 150, 13);
  const std::string exact = Runner(f32).InChunks(sequence, 150);
  const std::string rounded = Runner(int8).InChunks(same, 150);
  const auto count = static_cast<double>(150 * f32.h * f32.hd);
  double squares = 0, error_squares = 0;
  for (size_t at = 0; at < exact.size(); at += sizeof(float)) {
    float x, y;
    std::memcpy(&x, &exact[at], sizeof(x)), std::memcpy(&y, &rounded[at], sizeof(y));
    squares += x * x / count, error_squares += (y - x) * (y - x) / count;
  }
  const double error = std::sqrt(error_squares / squares);
  EXPECT_GT(error, 0.003);
  EXPECT_LT(error, 0.012);
}

// What a cache does that gives back the pages behind the window: their ids mean nothing any more.
TEST(SlidingWindowTest, DoesNotLookAtPagesBeforeTheWindow) {
  const Shape shape = {4, 2, 20, 16, Precision::kF32, 20};
  Sequence sequence(shape, 150, 11);
  const std::string want = Runner(shape).InChunks(sequence, 10);
  Runner runner(shape);
  std::string got;
  for (int64_t begin = 0; begin < 150; begin += 10) {
    std::vector<int32_t> page_table(kPages);
    std::iota(page_table.begin(), page_table.end(), 0);
    const int64_t pages_before = std::max<int64_t>(0, begin + 1 - 20) / 16;
    std::fill_n(page_table.begin(), pages_before, -1000000);
    runner.set_page_table(page_table);
    got += runner.Step(sequence, begin, begin + 10);
  }
  EXPECT_EQ(got, want);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest, ::testing::ValuesIn(kShapes), [](const auto& info) {
  const Shape& s = info.param;
  return "H" + std::to_string(s.h) + "Kv" + std::to_string(s.kv) + "Hd" + std::to_string(s.hd) +
         "Page" + std::to_string(s.page_size) + PrecisionName(s.precision) +
         (s.sliding_window.has_value() ? "Window" + std::to_string(*s.sliding_window) : "") +
         (s.soft_cap > 0 ? "Capped" : "");
});

TEST(KvLayoutTest, ReturnsInvalidArgumentWhenAFieldIsOutOfRange) {
  EXPECT_THAT((KvLayout{0, 64, 64, Precision::kF32}.Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_key_value_heads is 0")));
  EXPECT_THAT((KvLayout{1, 513, 64, Precision::kF32}.Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("head_dim is 513")));
  EXPECT_THAT((KvLayout{1, 64, 40, Precision::kF32}.Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_size is 40")));
  EXPECT_THAT((KvLayout{1, 64, 64, Precision::kInt4}.Validate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("int4")));
  PHYLLO_EXPECT_OK((KvLayout{1, 1, 16, Precision::kBf16}.Validate()));
}

TEST(AttentionScratchTest, ReturnsInvalidArgumentWhenThereIsNothingToServe) {
  HugePageArena arena;
  const KvLayout layout{1, 64, 64, Precision::kF32};
  EXPECT_THAT(AttentionScratch::Create(layout, 0, 1, arena),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_workers is 0")));
  EXPECT_THAT(AttentionScratch::Create(layout, 1, 0, arena),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_slices is 0")));
}

}  // namespace
}  // namespace phyllo
