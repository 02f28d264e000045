#include "model/transformer/decoder_layer.h"

#include <cstdint>

#include "model/ops/activation.h"
#include "model/ops/norm.h"
#include "model/ops/rope.h"
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

ActivationKind KindOf(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return ActivationKind::kSilu;
    case Activation::kGeluTanh:
      return ActivationKind::kGeluTanh;
    case Activation::kGeluErf:
      return ActivationKind::kGelu;
    case Activation::kRelu:
      return ActivationKind::kRelu;
  }
  return ActivationKind::kSilu;
}

// The norms of the heads and RoPE, on q [m, h * hd] and k [m, kv * hd] in place, whatever of them
// the layer has.
void PrepareHeads(const StepContext& step, const LayerWeights& weights, MatrixView<float> q,
                  MatrixView<float> k) {
  const AttentionDescription& attention = weights.description.attention;
  const float eps = weights.input_norm.description.eps;
  const bool qk_norm = attention.qk_norm != QkNorm::kNone;
  if (!qk_norm && !attention.rope.has_value()) return;
  ForEachRowBlock(step.pool, q.rows, q.cols + k.cols, [&](int64_t begin, int64_t count) {
    const MatrixView<float> q_rows = q.SubRows(begin, count);
    const MatrixView<float> k_rows = k.SubRows(begin, count);
    if (qk_norm) {
      RmsNormHeads(step.kernels, q_rows, weights.q_norm, eps);
      RmsNormHeads(step.kernels, k_rows, weights.k_norm, eps);
    }
    if (attention.rope.has_value()) {
      const MatrixView<const float> cos = step.activations.cos.SubRows(begin, count);
      const MatrixView<const float> sin = step.activations.sin.SubRows(begin, count);
      ApplyRope(step.kernels, q_rows, attention.head_dim, cos, sin);
      ApplyRope(step.kernels, k_rows, attention.head_dim, cos, sin);
    }
  });
}

// x += o_proj(attention(qkv_proj(normed))).
void AddAttention(const StepContext& step, const LayerWeights& weights, const KvLayer& kv_layer,
                  MatrixView<float> x) {
  const AttentionDescription& attention = weights.description.attention;
  const int64_t q_cols = attention.num_attention_heads * attention.head_dim;
  const int64_t kv_cols = attention.num_key_value_heads * attention.head_dim;
  const Activations& a = step.activations;
  const MatrixView<float> q = a.qkv.SubCols(0, q_cols);
  const MatrixView<float> k = a.qkv.SubCols(q_cols, kv_cols);
  const MatrixView<float> v = a.qkv.SubCols(q_cols + kv_cols, kv_cols);
  weights.qkv_proj.Forward(a.normed, a.qkv, step.pool, step.linear_scratch);
  PrepareHeads(step, weights, q, k);
  WriteKv(step.kernels, k, v, step.slices, kv_layer, step.pool);
  Attend(step.kernels,
         {.num_attention_heads = attention.num_attention_heads, .scale = attention.scale}, q,
         step.slices, kv_layer, a.attention, step.pool, step.attention_scratch);
  weights.o_proj.ForwardAdd(a.attention, x, step.pool, step.linear_scratch);
}

// x += down_proj(act(gate) * up), gate and up being gate_up_proj(normed); plain:
// down_proj(act(up)).
void AddFeedForward(const StepContext& step, const LayerWeights& weights, MatrixView<float> x) {
  const FeedForwardDescription& feed_forward = weights.description.feed_forward;
  const int64_t intermediate_size = feed_forward.intermediate_size;
  const ActivationKind kind = KindOf(feed_forward.activation);
  const Activations& a = step.activations;
  weights.gate_up_proj.Forward(a.normed, a.gate_up, step.pool, step.linear_scratch);
  ForEachRowBlock(step.pool, x.rows, a.gate_up.cols, [&](int64_t begin, int64_t count) {
    const MatrixView<const float> rows = a.gate_up.SubRows(begin, count);
    const LinearInput out = a.feed_forward.SubRows(begin, count);
    if (feed_forward.gated) {
      ActivateGated(step.kernels, kind, rows.SubCols(0, intermediate_size),
                    rows.SubCols(intermediate_size, intermediate_size), out);
    } else {
      Activate(step.kernels, kind, rows, out);
    }
  });
  weights.down_proj.ForwardAdd(a.feed_forward, x, step.pool, step.linear_scratch);
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
  ApplyNorm(step, weights.input_norm, hidden_states, step.activations.normed);
  AddAttention(step, weights, kv_layer, hidden_states);
  ApplyNorm(step, weights.feed_forward_norm, hidden_states, step.activations.normed);
  AddFeedForward(step, weights, hidden_states);
}

}  // namespace phyllo
