#include "model/transformer/feed_forward/feed_forward.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/onednn/linear_kernels.h"
#include "model/onednn/packed_linear.h"
#include "model/ops/activation.h"
#include "model/ops/attention.h"
#include "model/ops/simd_kernels.h"
#include "model/ops/testing/op_test_data.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/dtype.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/activations.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/step_context.h"

namespace phyllo {
namespace {

constexpr int64_t kHiddenSize = 20;
constexpr int64_t kIntermediateSize = 28;
constexpr int64_t kMaxRows = 70;

using Matrix = std::vector<float>;

// A layer's experts with their weights both packed and plain.
class ExpertsTest : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {}

  // Makes the layer. `router` [e, d] or, if it is empty, random.
  void Make(const ExpertsDescription& experts, Matrix router = {}) {
    LayerDescription description;
    description.attention.num_attention_heads = 1;
    description.attention.num_key_value_heads = 1;
    description.attention.head_dim = 16;
    description.feed_forward.intermediate_size = kIntermediateSize;
    description.feed_forward.experts = experts;
    DecoderDescription decoder;
    decoder.hidden_size = kHiddenSize;
    decoder.layers = {description};
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        activations_,
        Activations::Create(decoder, ModelPrecision::Of(GetParam()), kMaxRows, arena_));
    for (const int threads : {1, 2}) {
      PHYLLO_ASSERT_OK_AND_ASSIGN(auto pool, ThreadPool::Create({.num_threads = threads}));
      pools_.push_back(std::move(pool));
    }
    PHYLLO_ASSERT_OK_AND_ASSIGN(linear_scratch_, LinearScratch::Create(2, arena_));
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        attention_scratch_,
        AttentionScratch::Create(
            {.num_key_value_heads = 1, .head_dim = 16, .page_size = 16, .precision = GetParam()}, 2,
            kMaxRows, arena_));

    router_ = router.empty() ? RandomFloats(experts.num_experts * kHiddenSize, 1) : router;
    ExpertsWeights weights = {.rule = {.num_experts_per_tok = experts.num_experts_per_tok,
                                       .norm_topk_prob = experts.norm_topk_prob,
                                       .num_shared_experts = experts.num_shared_experts},
                              .router = Pack(router_, kHiddenSize, Precision::kF32),
                              .experts = {}};
    for (int64_t i = 0; i < experts.num_experts + experts.num_shared_experts; ++i) {
      const auto seed = static_cast<uint32_t>(10 + i);
      gate_up_.push_back(RandomFloats(2 * kIntermediateSize * kHiddenSize, seed, 0.3f));
      down_.push_back(RandomFloats(kHiddenSize * kIntermediateSize, 100 + seed, 0.3f));
      weights.experts.push_back({.gate_up_proj = Pack(gate_up_.back(), kHiddenSize, GetParam()),
                                 .down_proj = Pack(down_.back(), kIntermediateSize, GetParam())});
    }
    layer_.emplace(LayerWeights{.description = description,
                                .input_norm = std::nullopt,
                                .qkv_proj = Pack(Matrix(1), 1, Precision::kF32),
                                .q_norm = std::nullopt,
                                .k_norm = std::nullopt,
                                .o_proj = Pack(Matrix(1), 1, Precision::kF32),
                                .attention_output_norm = std::nullopt,
                                .feed_forward_norm = std::nullopt,
                                .feed_forward = std::nullopt,
                                .experts = std::move(weights),
                                .feed_forward_output_norm = std::nullopt});
  }

  // feed_forward(x) of x [m, d]; with `y` y + feed_forward(x).
  Matrix Run(absl::Span<const float> x, int threads = 2, std::optional<Matrix> y = std::nullopt) {
    const int64_t m = static_cast<int64_t>(x.size()) / kHiddenSize;
    const bool add = y.has_value();
    Matrix out = add ? *y : Matrix(x.size(), std::numeric_limits<float>::quiet_NaN());
    const SimdKernels kernels = SimdKernels::ForThisCpu();
    const Activations rows = activations_.FirstRows(m);
    const Activations a = rows.ForLayer(layer_->description);
    for (int64_t i = 0; i < m; ++i) {
      std::copy_n(x.begin() + i * kHiddenSize, kHiddenSize, a.feed_forward_input.AsF32().Row(i));
    }
    const StepContext step = {.kernels = kernels,
                              .pool = *pools_[static_cast<size_t>(threads - 1)],
                              .linear_scratch = *linear_scratch_,
                              .attention_scratch = *attention_scratch_,
                              .ropes = {},
                              .slices = {},
                              .activations = rows};
    RunFeedForward(step, *layer_, a, {.y = {out.data(), m, kHiddenSize, kHiddenSize}, .add = add});
    return out;
  }

  // The formula for one row [d], in double, on weights and inputs as the precision stores them.
  // Says in `used` which experts it took.
  std::vector<double> Reference(absl::Span<const float> x, std::vector<int64_t>& used) const {
    const RoutingRule& rule = layer_->experts->rule;
    const int64_t e = static_cast<int64_t>(router_.size()) / kHiddenSize;
    std::vector<double> p(e);
    for (int64_t i = 0; i < e; ++i) {
      for (int64_t j = 0; j < kHiddenSize; ++j)
        p[i] += static_cast<double>(router_[i * kHiddenSize + j]) * x[j];
    }
    const double max = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& value : p) sum += value = std::exp(value - max);
    used.resize(e);
    std::iota(used.begin(), used.end(), 0);
    std::stable_sort(used.begin(), used.end(), [&](int64_t a, int64_t b) { return p[a] > p[b]; });
    used.resize(rule.num_experts_per_tok);
    double chosen = 0;
    for (const int64_t expert : used) chosen += p[expert];
    const double divisor = rule.norm_topk_prob ? chosen : sum;
    std::vector<double> y(kHiddenSize);
    for (const int64_t expert : used) AddExpert(expert, p[expert] / divisor, x, y);
    for (int64_t i = 0; i < rule.num_shared_experts; ++i) AddExpert(e + i, 1, x, y);
    return y;
  }

  // Expects Run to be near the reference for m random rows. Returns how many rows each expert got.
  std::vector<int64_t> ExpectMatches(int64_t m) {
    const Matrix x = RandomFloats(m * kHiddenSize, 7);
    const Matrix y = Run(x);
    std::vector<int64_t> counts(gate_up_.size()), used;
    double error_square = 0, square = 0;
    for (int64_t i = 0; i < m; ++i) {
      const std::vector<double> want =
          Reference(absl::MakeConstSpan(x).subspan(i * kHiddenSize, kHiddenSize), used);
      for (const int64_t expert : used) ++counts[expert];
      for (int64_t j = 0; j < kHiddenSize; ++j) {
        const double error = y[i * kHiddenSize + j] - want[j];
        error_square += error * error;
        square += want[j] * want[j];
      }
    }
    // f32: a few roundings of 6e-8. bf16: inputs and intermediate results rounded to 2^-9.
    EXPECT_LE(std::sqrt(error_square / square), GetParam() == Precision::kF32 ? 1e-6 : 0.01);
    return counts;
  }

 private:
  PackedLinear Pack(const Matrix& w, int64_t in_features, Precision precision) {
    const int64_t out_features = static_cast<int64_t>(w.size()) / in_features;
    PackedLinear linear =
        PackedLinear::Create(
            {.in_features = in_features, .out_features = out_features, .precision = precision},
            kernels_, arena_)
            .value();
    EXPECT_THAT(linear.PackRows(0, {.data = w.data(),
                                    .dtype = DType::kF32,
                                    .out_features = out_features,
                                    .in_features = in_features}),
                IsOk());
    return linear;
  }

  void AddExpert(int64_t expert, double weight, absl::Span<const float> x,
                 std::vector<double>& y) const {
    const auto dot = [](const float* row, const auto& input) {
      double sum = 0;
      for (size_t j = 0; j < input.size(); ++j) sum += static_cast<double>(row[j]) * input[j];
      return sum;
    };
    std::vector<double> inner(kIntermediateSize);
    for (int64_t i = 0; i < kIntermediateSize; ++i) {
      const double gate = dot(&gate_up_[expert][i * kHiddenSize], x);
      const double up = dot(&gate_up_[expert][(kIntermediateSize + i) * kHiddenSize], x);
      inner[i] = gate / (1 + std::exp(-gate)) * up;
    }
    for (int64_t j = 0; j < kHiddenSize; ++j)
      y[j] += weight * dot(&down_[expert][j * kIntermediateSize], inner);
  }

  LinearKernels kernels_;
  HugePageArena arena_;
  Activations activations_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;  // of one and of two threads
  std::optional<LinearScratch> linear_scratch_;
  std::optional<AttentionScratch> attention_scratch_;
  Matrix router_;
  std::vector<Matrix> gate_up_, down_;  // by expert
  std::optional<LayerWeights> layer_;
};

// A router whose choice is `expert` whatever the row, if its elements are positive.
Matrix RouterTo(int64_t expert, int64_t num_experts) {
  Matrix router(num_experts * kHiddenSize, 0.0f);
  std::fill_n(router.begin() + expert * kHiddenSize, kHiddenSize, 10.0f);
  return router;
}

TEST_P(ExpertsTest, MatchesReferenceWhenRenormalised) {
  Make({.num_experts = 5, .num_experts_per_tok = 3, .norm_topk_prob = true});
  ExpectMatches(kMaxRows);
}

TEST_P(ExpertsTest, MatchesReferenceWhenNotRenormalised) {
  Make({.num_experts = 5, .num_experts_per_tok = 2});
  ExpectMatches(kMaxRows);
}

TEST_P(ExpertsTest, MatchesReferenceWithOneExpertPerRow) {
  Make({.num_experts = 4, .num_experts_per_tok = 1, .norm_topk_prob = true});
  ExpectMatches(kMaxRows);
}

TEST_P(ExpertsTest, MatchesReferenceWithAllExperts) {
  Make({.num_experts = 3, .num_experts_per_tok = 3});
  ExpectMatches(33);
}

TEST_P(ExpertsTest, MatchesReferenceWithSharedExperts) {
  Make({.num_experts = 4,
        .num_experts_per_tok = 2,
        .norm_topk_prob = true,
        .num_shared_experts = 2});
  ExpectMatches(kMaxRows);
}

TEST_P(ExpertsTest, MatchesReferenceWhenMostExpertsHaveNoRow) {
  Make({.num_experts = 40, .num_experts_per_tok = 2});
  const std::vector<int64_t> counts = ExpectMatches(3);
  EXPECT_GT(std::count(counts.begin(), counts.end(), 0), 30);
}

TEST_P(ExpertsTest, GivesAllRowsToOneExpert) {
  Make({.num_experts = 6, .num_experts_per_tok = 1}, RouterTo(4, 6));
  Matrix x = RandomFloats(kMaxRows * kHiddenSize, 3);
  for (float& value : x) value = std::abs(value);
  const Matrix y = Run(x);
  std::vector<int64_t> used;
  for (int64_t i = 0; i < kMaxRows; ++i) {
    const std::vector<double> want =
        Reference(absl::MakeConstSpan(x).subspan(i * kHiddenSize, kHiddenSize), used);
    ASSERT_EQ(used, std::vector<int64_t>({4}));
    for (int64_t j = 0; j < kHiddenSize; ++j) {
      ASSERT_NEAR(y[i * kHiddenSize + j], want[j], GetParam() == Precision::kF32 ? 1e-4 : 0.3);
    }
  }
}

TEST_P(ExpertsTest, GivesARowTheSameBitsAloneAndInAnyBatch) {
  Make({.num_experts = 8, .num_experts_per_tok = 3, .num_shared_experts = 1});
  const Matrix x = RandomFloats(kMaxRows * kHiddenSize, 4);
  const Matrix all = Run(x, /*threads=*/1);
  for (const int threads : {1, 2}) {
    for (const int64_t m : {int64_t{1}, int64_t{2}, int64_t{9}, kMaxRows}) {
      Matrix parts;
      for (int64_t begin = 0; begin < kMaxRows; begin += m) {
        const Matrix part =
            Run(absl::MakeConstSpan(x).subspan(begin * kHiddenSize, m * kHiddenSize), threads);
        parts.insert(parts.end(), part.begin(), part.end());
      }
      ASSERT_EQ(std::memcmp(parts.data(), all.data(), all.size() * sizeof(float)), 0)
          << m << " rows at a time, " << threads << " threads";
    }
  }
}

TEST_P(ExpertsTest, KeepsNanInItsRow) {
  Make({.num_experts = 4, .num_experts_per_tok = 2});
  Matrix x = RandomFloats(3 * kHiddenSize, 5);
  const Matrix clean = Run(x);
  x[kHiddenSize + 1] = std::numeric_limits<float>::quiet_NaN();
  const Matrix y = Run(x);
  EXPECT_TRUE(std::isnan(y[kHiddenSize]));
  EXPECT_EQ(Matrix(y.begin(), y.begin() + kHiddenSize),
            Matrix(clean.begin(), clean.begin() + kHiddenSize));
  EXPECT_EQ(Matrix(y.end() - kHiddenSize, y.end()), Matrix(clean.end() - kHiddenSize, clean.end()));
}

TEST_P(ExpertsTest, AddsToTheTargetWhenAskedTo) {
  Make({.num_experts = 4, .num_experts_per_tok = 2});
  const Matrix x = RandomFloats(5 * kHiddenSize, 6);
  const Matrix before = RandomFloats(5 * kHiddenSize, 8);
  const Matrix y = Run(x);
  const Matrix added = Run(x, /*threads=*/2, before);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(added[i], before[i] + y[i]);
}

INSTANTIATE_TEST_SUITE_P(Precisions, ExpertsTest,
                         testing::Values(Precision::kF32, Precision::kBf16),
                         [](const testing::TestParamInfo<Precision>& info) {
                           return info.param == Precision::kF32 ? "F32" : "Bf16";
                         });

class DenseTest : public testing::TestWithParam<Precision> {
 protected:
  PackedLinear Pack(int64_t out_features, int64_t in_features, uint32_t seed) {
    PackedLinear linear =
        PackedLinear::Create(
            {.in_features = in_features, .out_features = out_features, .precision = GetParam()},
            kernels_, arena_)
            .value();
    const Matrix w = RandomFloats(out_features * in_features, seed, 0.3f);
    EXPECT_THAT(linear.PackRows(0, {.data = w.data(),
                                    .dtype = DType::kF32,
                                    .out_features = out_features,
                                    .in_features = in_features}),
                IsOk());
    EXPECT_THAT(linear.PackBias(0, RandomFloats(out_features, seed + 1)), IsOk());
    return linear;
  }

  LayerWeights MakeLayer(int64_t intermediate_size) {
    LayerDescription description;
    description.attention.num_attention_heads = 1;
    description.attention.num_key_value_heads = 1;
    description.attention.head_dim = 16;
    description.feed_forward.intermediate_size = intermediate_size;
    return {.description = description,
            .input_norm = std::nullopt,
            .qkv_proj = Pack(1, 1, 1),
            .q_norm = std::nullopt,
            .k_norm = std::nullopt,
            .o_proj = Pack(1, 1, 1),
            .attention_output_norm = std::nullopt,
            .feed_forward_norm = std::nullopt,
            .feed_forward =
                FeedForwardWeights{.gate_up_proj = Pack(2 * intermediate_size, kHiddenSize, 2),
                                   .down_proj = Pack(kHiddenSize, intermediate_size, 4)},
            .experts = std::nullopt,
            .feed_forward_output_norm = std::nullopt};
  }

  LinearInput NewInput(int64_t m, int64_t cols) {
    const Precision precision = InputPrecision(GetParam());
    std::byte* const data = arena_.Allocate(LinearInput::BytesFor(m, cols, precision)).value();
    return {.precision = precision, .data = data, .rows = m, .cols = cols};
  }

  LinearKernels kernels_;
  HugePageArena arena_;
};

// Halves of whole panels meet tile by tile, others when their product is complete.
TEST_P(DenseTest, GivesTheBitsOfOneOperationAfterTheOther) {
  constexpr int64_t kMostRows = 300;
  const SimdKernels kernels = SimdKernels::ForThisCpu();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto pool, ThreadPool::Create({.num_threads = 2}));
  PHYLLO_ASSERT_OK_AND_ASSIGN(LinearScratch linear_scratch, LinearScratch::Create(2, arena_));
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      AttentionScratch attention_scratch,
      AttentionScratch::Create({.num_key_value_heads = 1, .head_dim = 16}, 2, kMostRows, arena_));
  for (const int64_t intermediate_size : {192, 100}) {
    const LayerWeights layer = MakeLayer(intermediate_size);
    DecoderDescription decoder;
    decoder.hidden_size = kHiddenSize;
    decoder.layers = {layer.description};
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        const Activations all,
        Activations::Create(decoder, ModelPrecision::Of(GetParam()), kMostRows, arena_));
    for (const int64_t m : {int64_t{1}, int64_t{33}, kMostRows}) {
      const Activations rows = all.FirstRows(m);
      const Activations a = rows.ForLayer(layer.description);
      Matrix x = RandomFloats(m * kHiddenSize, 6);
      RoundRows(kernels, {x.data(), m, kHiddenSize, kHiddenSize}, a.feed_forward_input);
      Matrix got(m * kHiddenSize), want(m * kHiddenSize), gate_up(m * 2 * intermediate_size);
      const StepContext step = {.kernels = kernels,
                                .pool = *pool,
                                .linear_scratch = linear_scratch,
                                .attention_scratch = attention_scratch,
                                .ropes = {},
                                .slices = {},
                                .activations = rows};
      RunFeedForward(step, layer, a, {.y = {got.data(), m, kHiddenSize, kHiddenSize}});

      const MatrixView<float> product = {gate_up.data(), m, 2 * intermediate_size,
                                         2 * intermediate_size};
      const LinearInput activated = NewInput(m, intermediate_size);
      layer.feed_forward->gate_up_proj.Forward(a.feed_forward_input, product, *pool,
                                               linear_scratch);
      ActivateGated(kernels, ActivationKind::kSilu, product.SubCols(0, intermediate_size),
                    product.SubCols(intermediate_size, intermediate_size), activated);
      layer.feed_forward->down_proj.Forward(activated, {want.data(), m, kHiddenSize, kHiddenSize},
                                            *pool, linear_scratch);
      EXPECT_EQ(got, want) << m << " rows, intermediate_size " << intermediate_size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, DenseTest,
                         testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8,
                                         Precision::kInt4),
                         [](const testing::TestParamInfo<Precision>& info) {
                           return PrecisionName(info.param);
                         });

}  // namespace
}  // namespace phyllo
