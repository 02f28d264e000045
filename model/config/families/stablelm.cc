#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// StableLM 2 and StableLM 3B (transformers, modeling_stablelm.py): Llama with LayerNorm, a part of
// each head rotated, and optionally parallel halves behind one norm.

namespace phyllo {
namespace {

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader,
              {.norm_eps = "layer_norm_eps",
               .norm = {.kind = NormKind::kLayerNorm, .bias = true},
               .rope = RopeKeys{.default_rope_theta = 1e4, .default_partial_rotary_factor = 0.25}},
              decoder);
  const bool bias = ReadBool(reader, "use_qkv_bias", false);
  const bool parallel = ReadBool(reader, "use_parallel_residual", false);
  for (LayerDescription& layer : decoder.layers) {
    layer.attention.q_bias = layer.attention.k_bias = layer.attention.v_bias = bias;
    if (!parallel) continue;
    layer.residual = ResidualForm::kParallel;
    layer.feed_forward_norm = false;
  }
}

}  // namespace

constinit const Family kStableLm = {.model_type = "stablelm",
                                    .class_prefix = "StableLm",
                                    .tie_word_embeddings = false,
                                    .describe = Describe};

}  // namespace phyllo
