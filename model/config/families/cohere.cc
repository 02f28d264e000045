#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// Cohere's Command R and Aya (transformers, modeling_cohere.py): Llama with LayerNorm without bias,
// parallel halves behind one norm, interleaved RoPE, logits times logit_scale.

namespace phyllo {
namespace {

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader,
              {.norm_eps = "layer_norm_eps",
               .default_multi_head = true,
               .norm = {.kind = NormKind::kLayerNorm, .bias = false},
               .rope = RopeKeys{.default_rope_theta = 5e5}},
              decoder);
  ReadAttentionBias(reader, decoder);
  decoder.ropes[0].layout = RopeLayout::kInterleaved;
  decoder.logits_divisor =
      static_cast<float>(1.0 / ReadNumber(reader, "logit_scale", 1e-6, 1e6, 0.0625));
  for (LayerDescription& layer : decoder.layers) {
    layer.residual = ResidualForm::kParallel;
    layer.feed_forward_norm = false;
  }
}

}  // namespace

constinit const Family kCohere = {.model_type = "cohere",
                                  .class_prefix = "Cohere",
                                  .tie_word_embeddings = true,
                                  .describe = Describe};

}  // namespace phyllo
