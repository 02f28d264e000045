#include <cstdint>

#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// Mistral (transformers, modeling_mistral.py): Llama with a sliding window in every layer.

namespace phyllo {
namespace {

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader, {.rope = RopeKeys{.default_rope_theta = 1e4}}, decoder);
  ReadSlidingWindow(
      reader, /*absent=*/4096, [](int64_t) { return true; }, decoder);
}

}  // namespace

constinit const Family kMistral = {.model_type = "mistral",
                                   .class_prefix = "Mistral",
                                   .tie_word_embeddings = false,
                                   .describe = Describe};

}  // namespace phyllo
