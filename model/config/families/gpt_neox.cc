#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"
#include "model/config/weight_names.h"

// GPT-NeoX and Pythia (transformers, modeling_gpt_neox.py).

namespace phyllo {
namespace {

constexpr WeightName kNames[] = {
    {WeightRole::kEmbedTokens, "embed_in"},
    {WeightRole::kInputNorm, "layers.*.input_layernorm"},
    {WeightRole::kQProj, "layers.*.attention.query_key_value"},
    {WeightRole::kKProj, "layers.*.attention.query_key_value"},
    {WeightRole::kVProj, "layers.*.attention.query_key_value"},
    {WeightRole::kOProj, "layers.*.attention.dense"},
    {WeightRole::kFeedForwardNorm, "layers.*.post_attention_layernorm"},
    {WeightRole::kUpProj, "layers.*.mlp.dense_h_to_4h"},
    {WeightRole::kDownProj, "layers.*.mlp.dense_4h_to_h"},
    {WeightRole::kFinalNorm, "final_layer_norm"},
    {WeightRole::kLmHead, "embed_out"},
    {WeightRole::kScore, "score"},
};

constexpr absl::string_view kPrefixes[] = {"gpt_neox.", ""};

// Masks and rotary tables of early checkpoints.
constexpr absl::string_view kIgnored[] = {"layers.*.attention.bias",
                                          "layers.*.attention.masked_bias",
                                          "layers.*.attention.rotary_emb.inv_freq"};

constinit const WeightNames kWeightNames = {
    .names = kNames, .prefixes = kPrefixes, .ignored = kIgnored, .fused_rows = FusedRows::kPerHead};

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader,
              {.norm_eps = "layer_norm_eps",
               .default_multi_head = true,
               .norm = {.kind = NormKind::kLayerNorm, .bias = true},
               .rope = RopeKeys{.default_rope_theta = 1e4,
                                .default_partial_rotary_factor = 0.25,
                                .rope_theta = "rotary_emb_base",
                                .partial_rotary_factor = "rotary_pct"},
               .weight_names = &kWeightNames},
              decoder);
  const bool parallel = ReadBool(reader, "use_parallel_residual", true);
  const bool bias = ReadBool(reader, "attention_bias", true);
  for (LayerDescription& layer : decoder.layers) {
    AttentionDescription& attention = layer.attention;
    attention.q_bias = attention.k_bias = attention.v_bias = attention.o_bias = bias;
    layer.feed_forward.gated = false;
    layer.feed_forward.up_bias = layer.feed_forward.down_bias = true;
    layer.residual = parallel ? ResidualForm::kParallel : ResidualForm::kSequential;
  }
}

}  // namespace

constinit const Family kGptNeox = {.model_type = "gpt_neox",
                                   .class_prefix = "GPTNeoX",
                                   .tie_word_embeddings = false,
                                   .describe = Describe};

}  // namespace phyllo
