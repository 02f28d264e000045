#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"
#include "model/config/weight_names.h"

// GPT-2 (transformers, modeling_gpt2.py).

namespace phyllo {
namespace {

constexpr WeightName kNames[] = {
    {WeightRole::kEmbedTokens, "wte"},       {WeightRole::kEmbedPositions, "wpe"},
    {WeightRole::kInputNorm, "h.*.ln_1"},    {WeightRole::kQProj, "h.*.attn.c_attn"},
    {WeightRole::kKProj, "h.*.attn.c_attn"}, {WeightRole::kVProj, "h.*.attn.c_attn"},
    {WeightRole::kOProj, "h.*.attn.c_proj"}, {WeightRole::kFeedForwardNorm, "h.*.ln_2"},
    {WeightRole::kUpProj, "h.*.mlp.c_fc"},   {WeightRole::kDownProj, "h.*.mlp.c_proj"},
    {WeightRole::kFinalNorm, "ln_f"},        {WeightRole::kLmHead, "lm_head"},
    {WeightRole::kScore, "score"},
};

constexpr absl::string_view kPrefixes[] = {"transformer.", ""};

// The causal mask.
constexpr absl::string_view kIgnored[] = {"h.*.attn.bias", "h.*.attn.masked_bias"};

constinit const WeightNames kWeightNames = {
    .names = kNames, .prefixes = kPrefixes, .ignored = kIgnored, .in_out = true};

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader,
              {.hidden_size = "n_embd",
               .intermediate_size = "n_inner",
               .num_hidden_layers = "n_layer",
               .num_attention_heads = "n_head",
               .max_position_embeddings = "n_positions",
               .norm_eps = "layer_norm_epsilon",
               .hidden_act = "activation_function",
               .default_intermediate_size = [](int64_t hidden_size) { return 4 * hidden_size; },
               .default_multi_head = true,
               .default_hidden_act = "gelu_new",  // files before 2020-04 have none
               .norm = {.kind = NormKind::kLayerNorm, .bias = true},
               .rope = std::nullopt,
               .weight_names = &kWeightNames},
              decoder);
  const bool scale = ReadBool(reader, "scale_attn_weights", true);
  const bool scale_by_layer = ReadBool(reader, "scale_attn_by_inverse_layer_idx", false);
  double number = 0;
  for (LayerDescription& layer : decoder.layers) {
    AttentionDescription& attention = layer.attention;
    attention.q_bias = attention.k_bias = attention.v_bias = attention.o_bias = true;
    layer.feed_forward.gated = false;
    layer.feed_forward.up_bias = layer.feed_forward.down_bias = true;
    number += 1;
    const double head_dim = static_cast<double>(attention.head_dim);
    attention.scale = static_cast<float>((scale ? 1.0 / std::sqrt(head_dim) : 1.0) /
                                         (scale_by_layer ? number : 1.0));
  }
}

constexpr Architecture kArchitectures[] = {{"GPT2LMHeadModel", HeadKind::kLmHead}};

}  // namespace

constinit const Family kGpt2 = {.model_type = "gpt2",
                                .class_prefix = "GPT2",
                                .other_architectures = kArchitectures,
                                .tie_word_embeddings = true,
                                .describe = Describe};

}  // namespace phyllo
