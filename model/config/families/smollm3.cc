#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// SmolLM3 (transformers, modeling_smollm3.py): Llama without RoPE in some layers.

namespace phyllo {
namespace {

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader, {.rope = RopeKeys{.default_rope_theta = 2e6}}, decoder);
  ReadAttentionBias(reader, decoder);
  ReadMlpBias(reader, decoder);
  const int64_t layers = decoder.num_hidden_layers();
  const int64_t interval = reader.OptionalInteger("no_rope_layer_interval", 1, 1 << 20).value_or(4);
  const std::vector<int64_t> rotated = reader.IntegerList("no_rope_layers", 0, 1);
  if (!rotated.empty() && static_cast<int64_t>(rotated.size()) != layers) {
    reader.FailInvalid(absl::StrCat("no_rope_layers has ", rotated.size(),
                                    " entries, num_hidden_layers is ", layers));
    return;
  }
  for (int64_t i = 0; i < layers; ++i) {
    const bool rope = rotated.empty() ? (i + 1) % interval != 0 : rotated[i] == 1;
    if (!rope) decoder.layers[i].attention.rope = std::nullopt;
  }
  ReadSwitchedSlidingWindow(
      reader, [&](int64_t i) { return !decoder.layers[i].attention.rope.has_value(); }, decoder);
}

}  // namespace

constinit const Family kSmolLm3 = {.model_type = "smollm3",
                                   .class_prefix = "SmolLM3",
                                   .tie_word_embeddings = true,
                                   .describe = Describe};

}  // namespace phyllo
