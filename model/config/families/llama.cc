#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// Llama 1, 2, 3 and all that says model_type "llama" (transformers, modeling_llama.py).

namespace phyllo {
namespace {

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  // Files of Llama 1 give neither key.
  ReadDecoder(reader, {.default_multi_head = true, .rope = RopeKeys{.default_rope_theta = 1e4}},
              decoder);
  ReadAttentionBias(reader, decoder);
  ReadMlpBias(reader, decoder);
}

constexpr Architecture kOlderNames[] = {{"LLaMAForCausalLM", HeadKind::kLmHead}};

}  // namespace

constinit const Family kLlama = {.model_type = "llama",
                                 .class_prefix = "Llama",
                                 .other_architectures = kOlderNames,
                                 .tie_word_embeddings = false,
                                 .describe = Describe};

}  // namespace phyllo
