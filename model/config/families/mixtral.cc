#include <cstdint>
#include <optional>

#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"
#include "model/config/weight_names.h"

// Mixtral (transformers, modeling_mixtral.py): Mistral with experts in every layer.

namespace phyllo {
namespace {

constexpr WeightName kNames[] = {
    {WeightRole::kRouter, "layers.*.block_sparse_moe.gate"},
    {WeightRole::kGateProj, "layers.*.block_sparse_moe.experts.#.w1", WeightGroup::kExpert},
    {WeightRole::kUpProj, "layers.*.block_sparse_moe.experts.#.w3", WeightGroup::kExpert},
    {WeightRole::kDownProj, "layers.*.block_sparse_moe.experts.#.w2", WeightGroup::kExpert},
};

constinit const WeightNames kWeightNames = {.base = &kLlamaWeightNames, .names = kNames};

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader, {.rope = RopeKeys{.default_rope_theta = 1e6}, .weight_names = &kWeightNames},
              decoder);
  ReadSlidingWindow(
      reader, /*absent=*/std::nullopt, [](int64_t) { return true; }, decoder);
  ExpertsDescription experts = ReadExperts(reader, "num_local_experts", decoder);
  experts.norm_topk_prob = true;
  for (LayerDescription& layer : decoder.layers) layer.feed_forward.experts = experts;
}

}  // namespace

constinit const Family kMixtral = {.model_type = "mixtral",
                                   .class_prefix = "Mixtral",
                                   .tie_word_embeddings = false,
                                   .describe = Describe};

}  // namespace phyllo
