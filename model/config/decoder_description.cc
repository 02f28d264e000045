#include "model/config/decoder_description.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/config/model_config.h"

// One function per family, and nothing about families elsewhere but in weight_map.cc (names) and
// model_config.cc (keys).

namespace phyllo {
namespace {

// The names of transformers' ACT2FN.
struct ActivationAlias {
  absl::string_view name;
  Activation activation;
};
constexpr ActivationAlias kActivations[] = {
    {"silu", Activation::kSilu},          {"swish", Activation::kSilu},
    {"gelu", Activation::kGeluErf},       {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
};

absl::StatusOr<Activation> ParseActivation(absl::string_view name) {
  for (const ActivationAlias& alias : kActivations) {
    if (alias.name == name) return alias.activation;
  }
  return absl::UnimplementedError(
      absl::StrCat("config.json: hidden_act \"", name, "\" is not supported"));
}

// What all families share: sizes, plain causal attention with scale 1/sqrt(head_dim), no biases.
absl::StatusOr<DecoderDescription> DescribeCommon(const ModelConfig& config) {
  PHYLLO_ASSIGN_OR_RETURN(const Activation activation, ParseActivation(config.hidden_act));
  DecoderDescription description;
  description.family = config.family;
  description.vocab_size = config.vocab_size;
  description.hidden_size = config.hidden_size;
  description.max_position_embeddings = config.max_position_embeddings;
  description.tie_word_embeddings = config.tie_word_embeddings;
  LayerDescription layer;
  layer.attention.num_attention_heads = config.num_attention_heads;
  layer.attention.num_key_value_heads = config.num_key_value_heads;
  layer.attention.head_dim = config.head_dim;
  layer.attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)));
  layer.feed_forward.activation = activation;
  layer.feed_forward.intermediate_size = config.intermediate_size;
  description.layers.assign(config.num_hidden_layers, layer);
  return description;
}

void SetRmsNormAndRope(const ModelConfig& config, DecoderDescription& description) {
  description.norm.kind = NormKind::kRmsNorm;
  description.norm.eps = static_cast<float>(config.rms_norm_eps);
  description.positions = PositionKind::kRope;
  const RopeParameters& rope = config.rope_parameters;
  description.ropes = {{.parameters = rope, .rotary_dim = config.head_dim}};
  for (LayerDescription& layer : description.layers) layer.attention.rope = 0;
  if (rope.rope_type == RopeType::kYarn) {
    // Qwen's model cards switch YaRN on without raising max_position_embeddings.
    constexpr double kMaxPositions = 1 << 30;
    const double scaled = rope.factor * static_cast<double>(rope.original_max_position_embeddings);
    description.max_position_embeddings = std::max(
        description.max_position_embeddings, static_cast<int64_t>(std::min(scaled, kMaxPositions)));
  }
}

void DescribeLlama(const ModelConfig& config, DecoderDescription& description) {
  SetRmsNormAndRope(config, description);
  for (LayerDescription& layer : description.layers) {
    AttentionDescription& attention = layer.attention;
    attention.q_bias = attention.k_bias = attention.v_bias = attention.o_bias =
        config.attention_bias;
    FeedForwardDescription& feed_forward = layer.feed_forward;
    feed_forward.gate_bias = feed_forward.up_bias = feed_forward.down_bias = config.mlp_bias;
  }
}

void DescribeQwen2(const ModelConfig& config, DecoderDescription& description) {
  SetRmsNormAndRope(config, description);
  for (LayerDescription& layer : description.layers) {
    layer.attention.q_bias = layer.attention.k_bias = layer.attention.v_bias = true;
  }
}

void DescribeQwen3(const ModelConfig& config, DecoderDescription& description) {
  DescribeLlama(config, description);
  for (LayerDescription& layer : description.layers) layer.attention.qk_norm = QkNorm::kHead;
}

void DescribeGpt2(const ModelConfig& config, DecoderDescription& description) {
  description.norm.kind = NormKind::kLayerNorm;
  description.norm.eps = static_cast<float>(config.layer_norm_epsilon);
  description.norm.bias = true;
  description.positions = PositionKind::kLearned;
  double index = 0;
  for (LayerDescription& layer : description.layers) {
    AttentionDescription& attention = layer.attention;
    attention.q_bias = attention.k_bias = attention.v_bias = attention.o_bias = true;
    double scale =
        config.scale_attn_weights ? 1.0 / std::sqrt(static_cast<double>(config.head_dim)) : 1.0;
    index += 1;
    if (config.scale_attn_by_inverse_layer_idx) scale /= index;
    attention.scale = static_cast<float>(scale);
    layer.feed_forward.gated = false;
    layer.feed_forward.up_bias = layer.feed_forward.down_bias = true;
  }
}

}  // namespace

absl::string_view ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGeluErf:
      return "gelu_erf";
    case Activation::kRelu:
      return "relu";
  }
  return "unknown";
}

absl::StatusOr<DecoderDescription> DescribeDecoder(const ModelConfig& config) {
  PHYLLO_ASSIGN_OR_RETURN(DecoderDescription description, DescribeCommon(config));
  switch (config.family) {
    case ModelFamily::kLlama:
      DescribeLlama(config, description);
      break;
    case ModelFamily::kQwen2:
      DescribeQwen2(config, description);
      break;
    case ModelFamily::kQwen3:
      DescribeQwen3(config, description);
      break;
    case ModelFamily::kGpt2:
      DescribeGpt2(config, description);
      break;
    case ModelFamily::kMinimind2:
      DescribeLlama(config, description);
      break;  // the same arithmetic
    case ModelFamily::kMinimind3:
      DescribeQwen3(config, description);
      break;  // the same arithmetic
  }
  return description;
}

}  // namespace phyllo
