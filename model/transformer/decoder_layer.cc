#include "model/transformer/decoder_layer.h"

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "model/ops/activation.h"
#include "model/ops/norm.h"
#include "model/ops/rope.h"
#include "model/transformer/feed_forward/feed_forward.h"
#include "model/transformer/row_blocks.h"

// Invariant: whatever is cut over threads is cut into rows, and the operations on rows do not look
// at their neighbours, so the cut never shows in the result.

namespace phyllo {
namespace {

template <typename Out>
void ApplyNormToRows(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
                     const Out& out) {
  const float eps = norm.description.eps;
  ForEachRowBlock(step.pool, x.rows, x.cols, [&](int64_t begin, int64_t count) {
    switch (norm.description.kind) {
      case NormKind::kRmsNorm:
        RmsNorm(step.kernels, x.SubRows(begin, count), norm.weight, eps, out.SubRows(begin, count));
        break;
      case NormKind::kLayerNorm:
        LayerNorm(step.kernels, x.SubRows(begin, count), norm.weight, norm.bias, eps,
                  out.SubRows(begin, count));
        break;
    }
  });
}

RopePairs PairsOf(RopeLayout layout) {
  return layout == RopeLayout::kHalves ? RopePairs::kHalves : RopePairs::kInterleaved;
}

// The norms of q and k and RoPE, on q [m, h * hd] and k [m, kv * hd] in place, whatever of them the
// layer has.
void PrepareHeads(const StepContext& step, const LayerWeights& weights, MatrixView<float> q,
                  MatrixView<float> k) {
  const AttentionDescription& attention = weights.description.attention;
  if (!weights.q_norm.has_value() && !attention.rope.has_value()) return;
  ForEachRowBlock(step.pool, q.rows, q.cols + k.cols, [&](int64_t begin, int64_t count) {
    const MatrixView<float> q_rows = q.SubRows(begin, count);
    const MatrixView<float> k_rows = k.SubRows(begin, count);
    if (weights.q_norm.has_value()) {
      const float eps = weights.q_norm->description.eps;
      RmsNormHeads(step.kernels, q_rows, weights.q_norm->weight, eps);
      RmsNormHeads(step.kernels, k_rows, weights.k_norm->weight, eps);
    }
    if (attention.rope.has_value()) {
      const RopePairs pairs = PairsOf(step.ropes[*attention.rope].layout);
      const RopeRows& rope = step.activations.ropes[*attention.rope];
      const MatrixView<const float> cos = rope.cos.SubRows(begin, count);
      const MatrixView<const float> sin = rope.sin.SubRows(begin, count);
      ApplyRope(step.kernels, pairs, q_rows, attention.head_dim, cos, sin);
      ApplyRope(step.kernels, pairs, k_rows, attention.head_dim, cos, sin);
    }
  });
}

// target = o_proj(attention(qkv_proj(normed))).
void RunAttention(const StepContext& step, const LayerWeights& weights, const KvLayer& kv_layer,
                  const Activations& a, const LayerTarget& target) {
  const AttentionDescription& attention = weights.description.attention;
  const int64_t q_cols = attention.num_attention_heads * attention.head_dim;
  const int64_t kv_cols = attention.num_key_value_heads * attention.head_dim;
  const MatrixView<float> q = a.qkv.SubCols(0, q_cols);
  const MatrixView<float> k = a.qkv.SubCols(q_cols, kv_cols);
  const MatrixView<float> v = a.qkv.SubCols(q_cols + kv_cols, kv_cols);
  weights.qkv_proj.Forward(a.normed, a.qkv, step.pool, step.linear_scratch);
  PrepareHeads(step, weights, q, k);
  WriteKv(step.kernels, k, v, step.slices, kv_layer, step.pool);
  Attend(step.kernels,
         {.num_attention_heads = attention.num_attention_heads,
          .scale = attention.scale,
          .sliding_window = attention.sliding_window,
          .soft_cap = attention.soft_cap},
         q, step.slices, kv_layer, a.attention, step.pool, step.attention_scratch);
  Project(step, weights.o_proj, a.attention, target);
}

// out = norm(x), without a norm x itself.
void ReadResidual(const StepContext& step, const std::optional<NormWeights>& norm,
                  MatrixView<const float> x, const LinearInput& out) {
  if (norm.has_value()) return ApplyNorm(step, *norm, x, out);
  ForEachRowBlock(step.pool, x.rows, x.cols, [&](int64_t begin, int64_t count) {
    RoundRows(step.kernels, x.SubRows(begin, count), out.SubRows(begin, count));
  });
}

// x += factor * norm(update), without a norm factor * update.
void AddUpdate(const StepContext& step, const std::optional<NormWeights>& norm, float factor,
               MatrixView<float> update, MatrixView<float> x) {
  if (norm.has_value()) ApplyNorm(step, *norm, update, update);
  ForEachRowBlock(step.pool, x.rows, x.cols, [&](int64_t begin, int64_t count) {
    AddScaledRows(step.kernels, factor, update.SubRows(begin, count), x.SubRows(begin, count));
  });
}

// x += factor * norm(half), `half` being what run_half leaves in its target. If nothing happens to
// it on the way, its last product adds it to x at once.
void AddHalf(const StepContext& step, const std::optional<NormWeights>& norm, float factor,
             MatrixView<float> update, MatrixView<float> x,
             absl::FunctionRef<void(const LayerTarget& target)> run_half) {
  if (factor == 1.0f && !norm.has_value()) {
    run_half({.y = x, .add = true});
  } else {
    run_half({.y = update, .add = false});
    AddUpdate(step, norm, factor, update, x);
  }
}

}  // namespace

void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               const LinearInput& out) {
  ApplyNormToRows(step, norm, x, out);
}

void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               MatrixView<float> out) {
  ApplyNormToRows(step, norm, x, out);
}

void RunDecoderLayer(const StepContext& step, const LayerWeights& weights, const KvLayer& kv_layer,
                     MatrixView<float> hidden_states) {
  const Activations a = step.activations.ForLayer(weights.description);
  const float factor = weights.residual_multiplier;
  ReadResidual(step, weights.input_norm, hidden_states, a.normed);

  if (weights.description.residual == ResidualForm::kParallel) {
    RunAttention(step, weights, kv_layer, a, {.y = a.update, .add = false});
    // Without a norm of its own the feed-forward reads what attention read, and finds it there if
    // both read the same precision.
    if (weights.feed_forward_norm.has_value())
      ApplyNorm(step, *weights.feed_forward_norm, hidden_states, a.feed_forward_input);
    else if (a.feed_forward_input.precision != a.normed.precision)
      ReadResidual(step, weights.input_norm, hidden_states, a.feed_forward_input);
    RunFeedForward(step, weights, a, {.y = a.update, .add = true});
    AddUpdate(step, std::nullopt, factor, a.update, hidden_states);
    return;
  }

  AddHalf(step, weights.attention_output_norm, factor, a.update, hidden_states,
          [&](const LayerTarget& target) { RunAttention(step, weights, kv_layer, a, target); });
  ReadResidual(step, weights.feed_forward_norm, hidden_states, a.feed_forward_input);
  AddHalf(step, weights.feed_forward_output_norm, factor, a.update, hidden_states,
          [&](const LayerTarget& target) { RunFeedForward(step, weights, a, target); });
}

}  // namespace phyllo
