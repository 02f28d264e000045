#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// Granite 3, dense (transformers, modeling_granite.py): Llama with four multipliers.

namespace phyllo {
namespace {

constexpr double kMin = 1e-6;
constexpr double kMax = 1e6;

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader, {.default_multi_head = true, .rope = RopeKeys{.default_rope_theta = 1e4}},
              decoder);
  ReadAttentionBias(reader, decoder);
  ReadMlpBias(reader, decoder);
  const auto multiplier = [&reader](absl::string_view key) {
    return static_cast<float>(ReadNumber(reader, key, kMin, kMax, 1.0));
  };
  decoder.embedding_scale = multiplier("embedding_multiplier");
  decoder.residual_multiplier = multiplier("residual_multiplier");
  decoder.logits_divisor = multiplier("logits_scaling");
  const float scale = multiplier("attention_multiplier");
  for (LayerDescription& layer : decoder.layers) layer.attention.scale = scale;
}

}  // namespace

constinit const Family kGranite = {.model_type = "granite",
                                   .class_prefix = "Granite",
                                   .tie_word_embeddings = false,
                                   .describe = Describe};

}  // namespace phyllo
