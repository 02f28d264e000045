#include "model/config/families/decoder_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/reader/config_reader.h"
#include "model/config/reader/rope_reader.h"
#include "model/config/rope_parameters.h"
#include "model/config/weight_names.h"

namespace phyllo {
namespace {

constexpr int64_t kMaxVocabSize = 1 << 28;
constexpr int64_t kMaxHiddenSize = 1 << 20;
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxHeadElements = 1 << 22;  // num_attention_heads * head_dim
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxPositions = 1 << 30;

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

void ReadHeads(ConfigReader& reader, const DecoderKeys& keys, int64_t hidden_size,
               AttentionDescription& attention) {
  const int64_t heads = ReadInteger(reader, keys.num_attention_heads, 1, kMaxHeads);
  const std::optional<int64_t> kv_heads =
      reader.OptionalInteger(keys.num_key_value_heads, 1, kMaxHeads);
  if (!kv_heads.has_value() && !keys.default_multi_head)
    reader.FailInvalid(absl::StrCat(keys.num_key_value_heads, " is missing"));
  attention.num_attention_heads = heads;
  attention.num_key_value_heads = kv_heads.value_or(heads);

  const std::optional<int64_t> head_dim = reader.OptionalInteger("head_dim", 1, kMaxHeadElements);
  if (!head_dim.has_value() && !keys.default_head_dim) reader.FailInvalid("head_dim is missing");
  if (!head_dim.has_value() && hidden_size % heads != 0) {
    reader.FailInvalid(absl::StrCat(keys.num_attention_heads, " ", heads, " does not divide ",
                                    keys.hidden_size, " ", hidden_size));
  }
  attention.head_dim = head_dim.value_or(hidden_size / heads);
  if (attention.head_dim == 0)
    reader.FailInvalid("head_dim comes out as 0: more heads than hidden_size");
  attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(attention.head_dim)));

  if (heads % attention.num_key_value_heads != 0) {
    reader.FailInvalid(absl::StrCat(keys.num_key_value_heads, " ", attention.num_key_value_heads,
                                    " does not divide ", keys.num_attention_heads, " ", heads));
  }
  if (heads * attention.head_dim > kMaxHeadElements) {
    reader.FailInvalid(absl::StrCat(keys.num_attention_heads, " * head_dim must be at most ",
                                    kMaxHeadElements, ", is ", heads, " * ", attention.head_dim));
  }
}

int64_t ReadIntermediateSize(ConfigReader& reader, const DecoderKeys& keys, int64_t hidden_size) {
  if (keys.default_intermediate_size != nullptr && !reader.Has(keys.intermediate_size))
    return keys.default_intermediate_size(hidden_size);
  return ReadInteger(reader, keys.intermediate_size, 1, kMaxIntermediateSize);
}

void ReadRopeOfAllLayers(ConfigReader& reader, const RopeKeys& keys, DecoderDescription& decoder) {
  decoder.positions = PositionKind::kRope;
  decoder.ropes = {ReadRope(reader, decoder.max_position_embeddings,
                            decoder.layers[0].attention.head_dim, keys)};
  for (LayerDescription& layer : decoder.layers) layer.attention.rope = 0;
  const RopeParameters& rope = decoder.ropes[0].parameters;
  if (rope.rope_type != RopeType::kYarn) return;
  // Qwen's model cards switch YaRN on without raising max_position_embeddings.
  const double scaled = rope.factor * static_cast<double>(rope.original_max_position_embeddings);
  decoder.max_position_embeddings =
      std::max(decoder.max_position_embeddings,
               static_cast<int64_t>(std::min(scaled, static_cast<double>(kMaxPositions))));
}

constexpr WeightName kLlamaNames[] = {
    {WeightRole::kEmbedTokens, "embed_tokens"},
    {WeightRole::kInputNorm, "layers.*.input_layernorm"},
    {WeightRole::kQProj, "layers.*.self_attn.q_proj"},
    {WeightRole::kKProj, "layers.*.self_attn.k_proj"},
    {WeightRole::kVProj, "layers.*.self_attn.v_proj"},
    {WeightRole::kQNorm, "layers.*.self_attn.q_norm"},
    {WeightRole::kKNorm, "layers.*.self_attn.k_norm"},
    {WeightRole::kOProj, "layers.*.self_attn.o_proj"},
    {WeightRole::kFeedForwardNorm, "layers.*.post_attention_layernorm"},
    {WeightRole::kGateProj, "layers.*.mlp.gate_proj"},
    {WeightRole::kUpProj, "layers.*.mlp.up_proj"},
    {WeightRole::kDownProj, "layers.*.mlp.down_proj"},
    {WeightRole::kRouter, "layers.*.mlp.gate"},
    {WeightRole::kGateProj, "layers.*.mlp.experts.#.gate_proj", WeightGroup::kExpert},
    {WeightRole::kUpProj, "layers.*.mlp.experts.#.up_proj", WeightGroup::kExpert},
    {WeightRole::kDownProj, "layers.*.mlp.experts.#.down_proj", WeightGroup::kExpert},
    {WeightRole::kGateProj, "layers.*.mlp.shared_experts.#.gate_proj", WeightGroup::kSharedExpert},
    {WeightRole::kUpProj, "layers.*.mlp.shared_experts.#.up_proj", WeightGroup::kSharedExpert},
    {WeightRole::kDownProj, "layers.*.mlp.shared_experts.#.down_proj", WeightGroup::kSharedExpert},
    {WeightRole::kFinalNorm, "norm"},
    {WeightRole::kLmHead, "lm_head"},
    {WeightRole::kScore, "score"},
};

constexpr absl::string_view kLlamaPrefixes[] = {"model.", ""};

constexpr absl::string_view kLlamaIgnored[] = {
    "layers.*.self_attn.rotary_emb.inv_freq",  // buffers of early checkpoints
    "freqs_cos",
    "freqs_sin",
};

}  // namespace

constinit const WeightNames kLlamaWeightNames = {
    .names = kLlamaNames, .prefixes = kLlamaPrefixes, .ignored = kLlamaIgnored};

void ReadDecoder(ConfigReader& reader, const DecoderKeys& keys, DecoderDescription& decoder) {
  decoder.weight_names = keys.weight_names;
  decoder.vocab_size = ReadInteger(reader, "vocab_size", 1, kMaxVocabSize);
  decoder.hidden_size = ReadInteger(reader, keys.hidden_size, 1, kMaxHiddenSize);
  decoder.max_position_embeddings =
      ReadInteger(reader, keys.max_position_embeddings, 1, kMaxPositions);
  decoder.norm = keys.norm;
  const std::optional<double> eps = reader.OptionalNumber(keys.norm_eps, 0.0, 1.0);
  if (!eps.has_value()) reader.FailInvalid(absl::StrCat(keys.norm_eps, " is missing"));
  decoder.norm.eps = static_cast<float>(eps.value_or(0.0));

  LayerDescription layer;
  ReadHeads(reader, keys, decoder.hidden_size, layer.attention);
  layer.feed_forward.intermediate_size = ReadIntermediateSize(reader, keys, decoder.hidden_size);
  layer.feed_forward.activation = ReadActivation(reader, keys.hidden_act, keys.default_hidden_act);
  decoder.layers.assign(ReadInteger(reader, keys.num_hidden_layers, 1, kMaxLayers), layer);
  if (keys.rope.has_value()) {
    ReadRopeOfAllLayers(reader, *keys.rope, decoder);
  } else {
    decoder.positions = PositionKind::kLearned;
  }
}

void ReadAttentionBias(ConfigReader& reader, DecoderDescription& decoder) {
  const bool bias = ReadBool(reader, "attention_bias", false);
  for (LayerDescription& layer : decoder.layers) {
    AttentionDescription& attention = layer.attention;
    attention.q_bias = attention.k_bias = attention.v_bias = attention.o_bias = bias;
  }
}

void ReadMlpBias(ConfigReader& reader, DecoderDescription& decoder) {
  const bool bias = ReadBool(reader, "mlp_bias", false);
  for (LayerDescription& layer : decoder.layers) {
    FeedForwardDescription& feed_forward = layer.feed_forward;
    feed_forward.gate_bias = feed_forward.up_bias = feed_forward.down_bias = bias;
  }
}

Activation ReadActivation(ConfigReader& reader, absl::string_view key, absl::string_view absent) {
  const std::string name = reader.OptionalString(key).value_or(std::string(absent));
  for (const ActivationAlias& alias : kActivations) {
    if (alias.name == name) return alias.activation;
  }
  if (name.empty()) {
    reader.FailInvalid(absl::StrCat(key, " is missing"));
  } else {
    reader.FailUnsupported(absl::StrCat(key, " \"", name, "\" is not supported"));
  }
  return Activation::kSilu;
}

void ReadSlidingWindow(ConfigReader& reader, std::optional<int64_t> absent,
                       const std::function<bool(int64_t layer)>& slides,
                       DecoderDescription& decoder) {
  const bool null = IsNull(reader, "sliding_window");
  const std::optional<int64_t> given = reader.OptionalInteger("sliding_window", 1, kMaxPositions);
  const std::optional<int64_t> window = given.has_value() || null ? given : absent;
  const std::vector<std::string> types = reader.StringList("layer_types");
  const int64_t layers = decoder.num_hidden_layers();
  if (!types.empty() && static_cast<int64_t>(types.size()) != layers) {
    reader.FailInvalid(
        absl::StrCat("layer_types has ", types.size(), " entries, num_hidden_layers is ", layers));
    return;
  }
  for (int64_t i = 0; i < layers; ++i) {
    const bool sliding =
        types.empty() ? window.has_value() && slides(i) : types[i] == "sliding_attention";
    if (!types.empty() && !sliding && types[i] != "full_attention")
      reader.FailUnsupported(absl::StrCat("layer_types \"", types[i], "\" is not supported"));
    if (!sliding) continue;
    if (!window.has_value())
      reader.FailInvalid("layer_types has sliding_attention and there is no sliding_window");
    decoder.layers[i].attention.sliding_window = window;
  }
}

void ReadSwitchedSlidingWindow(ConfigReader& reader,
                               const std::function<bool(int64_t layer)>& slides,
                               DecoderDescription& decoder) {
  const bool on = ReadBool(reader, "use_sliding_window", false);
  if (on) ReadSlidingWindow(reader, /*absent=*/4096, slides, decoder);
}

ExpertsDescription ReadExperts(ConfigReader& reader, absl::string_view num_experts_key,
                               const DecoderDescription& decoder) {
  ExpertsDescription experts;
  experts.num_experts = ReadInteger(reader, num_experts_key, 1, kMaxExperts);
  experts.num_experts_per_tok = ReadInteger(reader, "num_experts_per_tok", 1, experts.num_experts);
  if (experts.num_experts * decoder.num_hidden_layers() > kMaxExpertsOfAllLayers) {
    reader.FailInvalid(absl::StrCat(num_experts_key, " of all layers together must be at most ",
                                    kMaxExpertsOfAllLayers, ", are ", experts.num_experts, " * ",
                                    decoder.num_hidden_layers()));
  }
  return experts;
}

}  // namespace phyllo
