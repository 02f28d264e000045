#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"
#include "model/config/weight_names.h"

// OLMo 2 (transformers, modeling_olmo2.py): norms only behind the halves of a layer, and RMSNorm
// over all heads of q and of k together.

namespace phyllo {
namespace {

constexpr WeightName kNames[] = {
    {WeightRole::kAttentionOutputNorm, "layers.*.post_attention_layernorm"},
    {WeightRole::kFeedForwardOutputNorm, "layers.*.post_feedforward_layernorm"},
};

constinit const WeightNames kWeightNames = {.base = &kLlamaWeightNames, .names = kNames};

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader,
              {.default_multi_head = true,
               .rope = RopeKeys{.default_rope_theta = 1e4},
               .weight_names = &kWeightNames},
              decoder);
  ReadAttentionBias(reader, decoder);
  for (LayerDescription& layer : decoder.layers) {
    layer.attention.qk_norm = QkNorm::kProjection;
    layer.input_norm = layer.feed_forward_norm = false;
    layer.attention_output_norm = layer.feed_forward_output_norm = true;
  }
}

}  // namespace

constinit const Family kOlmo2 = {.model_type = "olmo2",
                                 .class_prefix = "Olmo2",
                                 .tie_word_embeddings = false,
                                 .describe = Describe};

}  // namespace phyllo
