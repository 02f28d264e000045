#include "model/config/weight_map.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"

// The names of every family. check_tensors.cc compares them with a checkpoint.

namespace phyllo {
namespace {

// Collects the specs of one description, in the naming of one family.
class WeightMapBuilder {
 public:
  // `prefixes` stand before every name of the decoder; all are accepted. `layers` stands before the
  // layer number.
  WeightMapBuilder(std::vector<std::string> prefixes, std::string layers)
      : prefixes_(std::move(prefixes)), layers_(std::move(layers)) {}

  // Names added from here on are those of that layer; -1 = outside the layers.
  void SetLayer(int64_t layer) { layer_ = layer; }

  // A matrix or, with columns == 1, a vector. `names` are relative to the prefix and, in a layer,
  // to the layer.
  WeightSpec& Add(WeightRole role, std::vector<std::string> names, int64_t rows,
                  int64_t columns = 1) {
    WeightSpec spec;
    spec.role = role;
    spec.layer = layer_;
    spec.rows = rows;
    spec.columns = columns;
    spec.shape = IsVector(role) ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, columns};
    const std::string layer = layer_ < 0 ? "" : absl::StrCat(layers_, layer_, ".");
    for (const std::string& prefix : prefixes_) {
      for (const std::string& name : names) spec.names.push_back(absl::StrCat(prefix, layer, name));
    }
    map_.specs.push_back(std::move(spec));
    return map_.specs.back();
  }

  // The same with absolute names.
  void AddOutside(WeightRole role, const std::string& name, int64_t rows, int64_t columns) {
    WeightSpec& spec = Add(role, {}, rows, columns);
    spec.names = {name};
  }

  void Ignore(const std::string& name) {
    for (const std::string& prefix : prefixes_) map_.ignored_names.push_back(prefix + name);
  }

  void AddTiedName(const std::string& name) { map_.tied_names.push_back(name); }

  WeightMap Finish() { return std::move(map_); }

  static bool IsVector(WeightRole role) {
    switch (role) {
      case WeightRole::kEmbedTokens:
      case WeightRole::kEmbedPositions:
      case WeightRole::kQProj:
      case WeightRole::kKProj:
      case WeightRole::kVProj:
      case WeightRole::kOProj:
      case WeightRole::kGateProj:
      case WeightRole::kUpProj:
      case WeightRole::kDownProj:
      case WeightRole::kLmHead:
      case WeightRole::kRouter:
      case WeightRole::kScore:
        return false;
      default:
        return true;
    }
  }

 private:
  std::vector<std::string> prefixes_;
  std::string layers_;
  int64_t layer_ = -1;
  WeightMap map_;
};

void AddLmHead(const DecoderDescription& description, WeightMapBuilder& builder) {
  if (description.tie_word_embeddings) {
    builder.AddTiedName("lm_head.weight");
  } else {
    builder.AddOutside(WeightRole::kLmHead, "lm_head.weight", description.vocab_size,
                       description.hidden_size);
  }
  if (description.lm_head_bias)
    builder.AddOutside(WeightRole::kLmHeadBias, "lm_head.bias", description.vocab_size, 1);
}

// Llama, Qwen2, Qwen3, MiniMind. The names of bare models (without LM head) have no "model.".
WeightMap BuildLlama(const DecoderDescription& description) {
  WeightMapBuilder builder({"model.", ""}, "layers.");
  const int64_t d = description.hidden_size;
  // The norms of "MiniMind_Dense" end in "weights".
  const bool minimind2 = description.family == ModelFamily::kMinimind2;
  const auto norm = [&](WeightRole role, const std::string& name) {
    std::vector<std::string> names = {absl::StrCat(name, ".weight")};
    if (minimind2) names.push_back(absl::StrCat(name, ".weights"));
    builder.Add(role, std::move(names), d);
  };
  const auto linear = [&](WeightRole weight, WeightRole bias, const std::string& name, int64_t rows,
                          int64_t columns, bool has_bias) {
    builder.Add(weight, {absl::StrCat(name, ".weight")}, rows, columns);
    if (has_bias) builder.Add(bias, {absl::StrCat(name, ".bias")}, rows);
  };
  builder.Add(WeightRole::kEmbedTokens, {"embed_tokens.weight"}, description.vocab_size, d);
  for (int64_t i = 0; i < description.num_hidden_layers(); ++i) {
    const AttentionDescription& attention = description.layers[i].attention;
    const FeedForwardDescription& feed_forward = description.layers[i].feed_forward;
    const int64_t q_rows = attention.num_attention_heads * attention.head_dim;
    const int64_t kv_rows = attention.num_key_value_heads * attention.head_dim;
    const int64_t inner = feed_forward.intermediate_size;
    builder.SetLayer(i);
    norm(WeightRole::kInputNorm, "input_layernorm");
    linear(WeightRole::kQProj, WeightRole::kQProjBias, "self_attn.q_proj", q_rows, d,
           attention.q_bias);
    linear(WeightRole::kKProj, WeightRole::kKProjBias, "self_attn.k_proj", kv_rows, d,
           attention.k_bias);
    linear(WeightRole::kVProj, WeightRole::kVProjBias, "self_attn.v_proj", kv_rows, d,
           attention.v_bias);
    if (attention.qk_norm != QkNorm::kNone) {
      builder.Add(WeightRole::kQNorm, {"self_attn.q_norm.weight"}, attention.head_dim);
      builder.Add(WeightRole::kKNorm, {"self_attn.k_norm.weight"}, attention.head_dim);
    }
    linear(WeightRole::kOProj, WeightRole::kOProjBias, "self_attn.o_proj", d, q_rows,
           attention.o_bias);
    norm(WeightRole::kFeedForwardNorm, "post_attention_layernorm");
    linear(WeightRole::kGateProj, WeightRole::kGateProjBias, "mlp.gate_proj", inner, d,
           feed_forward.gate_bias);
    linear(WeightRole::kUpProj, WeightRole::kUpProjBias, "mlp.up_proj", inner, d,
           feed_forward.up_bias);
    linear(WeightRole::kDownProj, WeightRole::kDownProjBias, "mlp.down_proj", d, inner,
           feed_forward.down_bias);
  }
  builder.SetLayer(-1);
  norm(WeightRole::kFinalNorm, "norm");
  AddLmHead(description, builder);
  builder.Ignore("layers.*.self_attn.rotary_emb.inv_freq");  // buffers of early checkpoints
  builder.Ignore("freqs_cos");
  builder.Ignore("freqs_sin");
  return builder.Finish();
}

// GPT-2's names and layouts: Conv1D weights are [in, out], and c_attn is q | k | v along out.
class Gpt2Builder {
 public:
  explicit Gpt2Builder(WeightMapBuilder& builder) : builder_(builder) {}

  void Norm(WeightRole weight, WeightRole bias, const std::string& name, int64_t size) {
    builder_.Add(weight, {absl::StrCat(name, ".weight")}, size);
    builder_.Add(bias, {absl::StrCat(name, ".bias")}, size);
  }

  // Rows [begin, begin + rows) of a fused layer of `all` rows.
  void Conv1D(WeightRole weight, WeightRole bias, const std::string& name, int64_t rows,
              int64_t columns, int64_t begin, int64_t all) {
    WeightSpec& matrix = builder_.Add(weight, {absl::StrCat(name, ".weight")}, rows, columns);
    matrix.transposed = true;
    matrix.shape = {columns, all};
    matrix.row_begin = begin;
    WeightSpec& vector = builder_.Add(bias, {absl::StrCat(name, ".bias")}, rows);
    vector.shape = {all};
    vector.row_begin = begin;
  }

 private:
  WeightMapBuilder& builder_;
};

WeightMap BuildGpt2(const DecoderDescription& description) {
  WeightMapBuilder builder({"transformer.", ""}, "h.");
  Gpt2Builder gpt2(builder);
  const int64_t d = description.hidden_size;
  builder.Add(WeightRole::kEmbedTokens, {"wte.weight"}, description.vocab_size, d);
  builder.Add(WeightRole::kEmbedPositions, {"wpe.weight"}, description.max_position_embeddings, d);
  for (int64_t i = 0; i < description.num_hidden_layers(); ++i) {
    const int64_t inner = description.layers[i].feed_forward.intermediate_size;
    builder.SetLayer(i);
    gpt2.Norm(WeightRole::kInputNorm, WeightRole::kInputNormBias, "ln_1", d);
    gpt2.Conv1D(WeightRole::kQProj, WeightRole::kQProjBias, "attn.c_attn", d, d, 0, 3 * d);
    gpt2.Conv1D(WeightRole::kKProj, WeightRole::kKProjBias, "attn.c_attn", d, d, d, 3 * d);
    gpt2.Conv1D(WeightRole::kVProj, WeightRole::kVProjBias, "attn.c_attn", d, d, 2 * d, 3 * d);
    gpt2.Conv1D(WeightRole::kOProj, WeightRole::kOProjBias, "attn.c_proj", d, d, 0, d);
    gpt2.Norm(WeightRole::kFeedForwardNorm, WeightRole::kFeedForwardNormBias, "ln_2", d);
    gpt2.Conv1D(WeightRole::kUpProj, WeightRole::kUpProjBias, "mlp.c_fc", inner, d, 0, inner);
    gpt2.Conv1D(WeightRole::kDownProj, WeightRole::kDownProjBias, "mlp.c_proj", d, inner, 0, d);
  }
  builder.SetLayer(-1);
  gpt2.Norm(WeightRole::kFinalNorm, WeightRole::kFinalNormBias, "ln_f", d);
  AddLmHead(description, builder);
  builder.Ignore("h.*.attn.bias");  // the causal mask
  builder.Ignore("h.*.attn.masked_bias");
  return builder.Finish();
}

}  // namespace

absl::string_view WeightRoleName(WeightRole role) {
  switch (role) {
    case WeightRole::kEmbedTokens:
      return "embed_tokens";
    case WeightRole::kEmbedPositions:
      return "embed_positions";
    case WeightRole::kInputNorm:
      return "input_norm";
    case WeightRole::kInputNormBias:
      return "input_norm.bias";
    case WeightRole::kQProj:
      return "q_proj";
    case WeightRole::kQProjBias:
      return "q_proj.bias";
    case WeightRole::kKProj:
      return "k_proj";
    case WeightRole::kKProjBias:
      return "k_proj.bias";
    case WeightRole::kVProj:
      return "v_proj";
    case WeightRole::kVProjBias:
      return "v_proj.bias";
    case WeightRole::kQNorm:
      return "q_norm";
    case WeightRole::kKNorm:
      return "k_norm";
    case WeightRole::kOProj:
      return "o_proj";
    case WeightRole::kOProjBias:
      return "o_proj.bias";
    case WeightRole::kAttentionOutputNorm:
      return "attention_output_norm";
    case WeightRole::kFeedForwardNorm:
      return "feed_forward_norm";
    case WeightRole::kFeedForwardNormBias:
      return "feed_forward_norm.bias";
    case WeightRole::kFeedForwardOutputNorm:
      return "feed_forward_output_norm";
    case WeightRole::kRouter:
      return "router";
    case WeightRole::kGateProj:
      return "gate_proj";
    case WeightRole::kGateProjBias:
      return "gate_proj.bias";
    case WeightRole::kUpProj:
      return "up_proj";
    case WeightRole::kUpProjBias:
      return "up_proj.bias";
    case WeightRole::kDownProj:
      return "down_proj";
    case WeightRole::kDownProjBias:
      return "down_proj.bias";
    case WeightRole::kFinalNorm:
      return "norm";
    case WeightRole::kFinalNormBias:
      return "norm.bias";
    case WeightRole::kLmHead:
      return "lm_head";
    case WeightRole::kLmHeadBias:
      return "lm_head.bias";
    case WeightRole::kScore:
      return "score";
  }
  return "unknown";
}

const WeightSpec* WeightMap::Find(WeightRole role, int64_t layer, int64_t expert) const {
  for (const WeightSpec& spec : specs) {
    if (spec.role == role && spec.layer == layer && spec.expert == expert) return &spec;
  }
  return nullptr;
}

WeightMap BuildWeightMap(const DecoderDescription& description) {
  return description.family == ModelFamily::kGpt2 ? BuildGpt2(description)
                                                  : BuildLlama(description);
}

}  // namespace phyllo
