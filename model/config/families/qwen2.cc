#include <cstdint>

#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// Qwen2 and Qwen2.5, dense (transformers, modeling_qwen2.py): Llama with biases of q, k and v.

namespace phyllo {
namespace {

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader, {}, decoder);
  const int64_t max_window_layers =
      reader.OptionalInteger("max_window_layers", 0, 4096).value_or(28);
  ReadSwitchedSlidingWindow(
      reader, [=](int64_t layer) { return layer >= max_window_layers; }, decoder);
  ReadBool(reader, "attention_bias", false);  // some files have it; the reference does not read it
  for (LayerDescription& layer : decoder.layers) {
    layer.attention.q_bias = layer.attention.k_bias = layer.attention.v_bias = true;
  }
}

}  // namespace

constinit const Family kQwen2 = {.model_type = "qwen2",
                                 .class_prefix = "Qwen2",
                                 .tie_word_embeddings = false,
                                 .describe = Describe};

}  // namespace phyllo
