// A decoder as data: what one generic decoder function needs to know to compute any supported
// family.
//
// ParseModelConfig (model_config.h) makes it from a config.json.
//
// The decoder, for hidden states x [n, d]:
//   x = embed_tokens[ids] * embedding_scale (+ learned positions)
//   for each layer, with r = residual_multiplier and every norm only where the layer has it:
//     sequential: x += r * output_norm(attention(input_norm(x)))
//                 x += r * output_norm(feed_forward(norm(x)))
//     parallel:   x += r * (attention(input_norm(x)) + feed_forward(norm(x)))
//   logits [n, v] = soft_cap(lm_head(final_norm(x)) / logits_divisor)
// A new family is a new description and a table of weight names (families/), never a subclass and
// never a branch on the family in the decoder.
#ifndef PHYLLO_MODEL_CONFIG_DECODER_DESCRIPTION_H_
#define PHYLLO_MODEL_CONFIG_DECODER_DESCRIPTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/config/rope_parameters.h"
#include "model/config/weight_names.h"

namespace phyllo {

enum class NormKind {
  kRmsNorm,    // x / sqrt(mean(x^2) + eps) * weight
  kLayerNorm,  // (x - mean) / sqrt(variance + eps) * weight + bias
};

enum class PositionKind {
  kRope,     // q and k rotated inside attention
  kLearned,  // a table row added to the embedding
};

// Which elements of a head are rotated together.
enum class RopeLayout {
  kHalves,       // i and i + rotary_dim / 2: transformers' "rotate_half"
  kInterleaved,  // 2 i and 2 i + 1: Llama's own code, MiniMind of the first generation
};

// Where the q and k of a layer are normalised, before RoPE.
enum class QkNorm {
  kNone,
  kHead,        // each head over its head_dim, with one weight [head_dim] (Qwen3, Gemma 3)
  kProjection,  // all heads together, with weights [h * hd] and [kv * hd] (OLMo 2)
};

// How the two halves of a layer are joined.
enum class ResidualForm {
  kSequential,  // the feed-forward sees the attention's result
  kParallel,    // both see the layer's input (GPT-NeoX, Cohere)
};

// What stands behind the decoder layers.
enum class HeadKind {
  kLmHead,  // logits over the vocabulary
  kLabels,  // score [num_labels, d]: classification, or regression with one label
  kNone,    // the final hidden states themselves: an embedding model
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
  bool bias = false;           // LayerNorm's bias
  float weight_offset = 0.0f;  // is added to the stored weight: 1 in Gemma

  bool operator==(const NormDescription&) const = default;
};

// One way to rotate, which several layers share.
struct RopeDescription {
  RopeParameters parameters;
  int64_t rotary_dim = 0;  // the leading elements of a head that are rotated: even, <= head_dim
  RopeLayout layout = RopeLayout::kHalves;

  bool operator==(const RopeDescription&) const = default;
};

// Attention of one layer. q_proj: [n, d] -> [n, h * hd]; k_proj, v_proj: [n, d] -> [n, kv * hd];
// o_proj: [n, h * hd] -> [n, d]. Query head i reads key/value head i / (h / kv).
struct AttentionDescription {
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  float scale = 0.0f;  // scores are q . k * scale
  // The index in DecoderDescription::ropes; absent = q and k are not rotated (NoPE).
  std::optional<int64_t> rope;
  // A query sees itself and the window - 1 keys before it; absent = all.
  std::optional<int64_t> sliding_window;
  // Scores become soft_cap * tanh(scores / soft_cap), before the mask; 0 = as they are.
  float soft_cap = 0.0f;
  QkNorm qk_norm = QkNorm::kNone;  // RMSNorm, with eps and weight_offset of the model's norm
  bool q_bias = false;
  bool k_bias = false;
  bool v_bias = false;
  bool o_bias = false;

  bool operator==(const AttentionDescription&) const = default;
};

// Experts of one layer: a router [num_experts, d] chooses num_experts_per_tok of them for each row
// by softmax over all experts' logits; their outputs are added with these probabilities. Shared
// experts serve every row and are added with weight 1.
struct ExpertsDescription {
  int64_t num_experts = 0;
  int64_t num_experts_per_tok = 0;  // 1 .. num_experts
  bool norm_topk_prob = false;      // divide the chosen probabilities by their sum
  int64_t num_shared_experts = 0;   // each of the same intermediate_size

  bool operator==(const ExpertsDescription&) const = default;
};

// Feed-forward of one layer. Gated: down(act(gate(x)) * up(x)); plain: down(act(up(x))).
// gate_proj, up_proj: [n, d] -> [n, intermediate_size]; down_proj: the reverse.
struct FeedForwardDescription {
  Activation activation = Activation::kSilu;
  bool gated = true;
  int64_t intermediate_size = 0;  // of each expert, if there are experts
  bool gate_bias = false;         // false if not gated
  bool up_bias = false;
  bool down_bias = false;
  std::optional<ExpertsDescription> experts;  // absent = one dense feed-forward

  bool operator==(const FeedForwardDescription&) const = default;
};

struct LayerDescription {
  AttentionDescription attention;
  FeedForwardDescription feed_forward;
  ResidualForm residual = ResidualForm::kSequential;
  bool input_norm = true;              // before attention
  bool attention_output_norm = false;  // behind attention, before the residual add
  // Before the feed-forward. Without it a parallel layer's feed-forward reads what attention reads.
  bool feed_forward_norm = true;
  bool feed_forward_output_norm = false;  // behind the feed-forward, before the residual add

  bool operator==(const LayerDescription&) const = default;
};

// A plain value; immutable once it is made.
struct DecoderDescription {
  const WeightNames* weight_names = nullptr;  // of its checkpoints; a table of static lifetime
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  // Positions are 0 .. max_position_embeddings - 1. With learned positions there is no row beyond;
  // with RoPE it is the length the model is declared for, or what YaRN scales the original length
  // to if that is more.
  int64_t max_position_embeddings = 0;
  NormDescription norm;  // of every layer and the final one
  PositionKind positions = PositionKind::kRope;
  std::vector<RopeDescription> ropes;  // at most two; empty if positions is kLearned
  float embedding_scale = 1.0f;
  float residual_multiplier = 1.0f;  // of what a layer's halves add to the residual stream
  HeadKind head = HeadKind::kLmHead;
  int64_t num_labels = 0;            // rows of score, if head is kLabels
  bool tie_word_embeddings = false;  // lm_head is embed_tokens
  bool lm_head_bias = false;
  float logits_divisor = 1.0f;   // logits are divided by it
  float logits_soft_cap = 0.0f;  // then become soft_cap * tanh(logits / soft_cap); 0 = as they are
  std::vector<LayerDescription> layers;  // [num_hidden_layers]

  int64_t num_hidden_layers() const { return static_cast<int64_t>(layers.size()); }

  bool operator==(const DecoderDescription&) const = default;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_DECODER_DESCRIPTION_H_
