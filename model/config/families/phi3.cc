#include <cstdint>
#include <optional>

#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"
#include "model/config/weight_names.h"

// Phi-3, Phi-3.5, Phi-4 and Phi-4-mini (transformers, modeling_phi3.py): Llama with fused
// projections, a part of each head rotated, longrope.

namespace phyllo {
namespace {

constexpr WeightName kNames[] = {
    {WeightRole::kQProj, "layers.*.self_attn.qkv_proj"},
    {WeightRole::kKProj, "layers.*.self_attn.qkv_proj"},
    {WeightRole::kVProj, "layers.*.self_attn.qkv_proj"},
    {WeightRole::kGateProj, "layers.*.mlp.gate_up_proj"},
    {WeightRole::kUpProj, "layers.*.mlp.gate_up_proj"},
};

constinit const WeightNames kWeightNames = {.base = &kLlamaWeightNames, .names = kNames};

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader,
              {.default_multi_head = true,
               .rope = RopeKeys{.default_rope_theta = 1e4, .yarn_means_longrope = true},
               .weight_names = &kWeightNames},
              decoder);
  ReadSlidingWindow(
      reader, /*absent=*/std::nullopt, [](int64_t) { return true; }, decoder);
}

}  // namespace

constinit const Family kPhi3 = {.model_type = "phi3",
                                .class_prefix = "Phi3",
                                .tie_word_embeddings = false,
                                .describe = Describe};

}  // namespace phyllo
