// A decoder as data: what one generic decoder function needs to know to compute any supported
// family.
//
//   PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(text));
//   PHYLLO_ASSIGN_OR_RETURN(const DecoderDescription description, DescribeDecoder(config));
//
// The decoder, for hidden states x [n, d]:
//   x = embed_tokens[ids] * embedding_scale (+ learned positions)
//   for each layer: x += attention(norm(x)); x += feed_forward(norm(x))
//   logits [n, v] = lm_head(norm(x))
// A new family is a new description function and a weight-name map (weight_map.h), never a
// subclass.
#ifndef PHYLLO_MODEL_CONFIG_DECODER_DESCRIPTION_H_
#define PHYLLO_MODEL_CONFIG_DECODER_DESCRIPTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/config/model_config.h"

namespace phyllo {

enum class NormKind {
  kRmsNorm,    // x / sqrt(mean(x^2) + eps) * weight
  kLayerNorm,  // (x - mean) / sqrt(variance + eps) * weight + bias
};

enum class PositionKind {
  kRope,     // q and k rotated inside attention, half-rotated form (pairs i, i + rotary_dim / 2)
  kLearned,  // a table row added to the embedding
};

enum class Activation {
  kSilu,      // x / (1 + exp(-x))
  kGeluTanh,  // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): gelu_new, gelu_pytorch_tanh
  kGeluErf,   // 0.5 x (1 + erf(x / sqrt(2))): gelu
  kRelu,      // max(x, 0)
};

// The name for messages and tables, such as "gelu_tanh".
absl::string_view ActivationName(Activation activation);

struct NormDescription {
  NormKind kind = NormKind::kRmsNorm;
  float eps = 0.0f;
  bool bias = false;  // LayerNorm's bias
};

// Attention of one layer. q_proj: [n, d] -> [n, h * hd]; k_proj, v_proj: [n, d] -> [n, kv * hd];
// o_proj: [n, h * hd] -> [n, d]. Query head i reads key/value head i / (h / kv).
struct AttentionDescription {
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  float scale = 0.0f;  // scores are q . k * scale
  bool rope = false;   // rotate q and k of this layer
  // A query sees itself and the window - 1 keys before it; absent = all.
  std::optional<int64_t> sliding_window;
  bool qk_norm = false;  // RMSNorm over head_dim of each head of q and of k, before RoPE
  bool q_bias = false;
  bool k_bias = false;
  bool v_bias = false;
  bool o_bias = false;
};

// Feed-forward of one layer. Gated: down(act(gate(x)) * up(x)); plain: down(act(up(x))).
// gate_proj, up_proj: [n, d] -> [n, intermediate_size]; down_proj: the reverse.
struct FeedForwardDescription {
  Activation activation = Activation::kSilu;
  bool gated = true;
  int64_t intermediate_size = 0;
  bool gate_bias = false;  // false if not gated
  bool up_bias = false;
  bool down_bias = false;
};

struct LayerDescription {
  AttentionDescription attention;
  FeedForwardDescription feed_forward;
};

// A plain value; immutable once it is made.
struct DecoderDescription {
  ModelFamily family = ModelFamily::kLlama;
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  // Positions are 0 .. max_position_embeddings - 1. With learned positions there is no row beyond;
  // with RoPE it is the length the model is declared for, or what YaRN scales the original length
  // to if that is more.
  int64_t max_position_embeddings = 0;
  NormDescription norm;  // of every layer and the final one
  PositionKind positions = PositionKind::kRope;
  RopeParameters rope;  // used if positions is kRope; rotary dimension = head_dim
  float embedding_scale = 1.0f;
  bool tie_word_embeddings = false;  // lm_head is embed_tokens
  bool lm_head_bias = false;
  std::vector<LayerDescription> layers;  // [num_hidden_layers]

  int64_t num_hidden_layers() const { return static_cast<int64_t>(layers.size()); }
};

// The description of `config`'s family. Errors: UNIMPLEMENTED for an activation that is not in
// Activation.
absl::StatusOr<DecoderDescription> DescribeDecoder(const ModelConfig& config);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_DECODER_DESCRIPTION_H_
