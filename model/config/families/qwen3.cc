#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"

// Qwen3, dense and with experts (transformers, modeling_qwen3.py and modeling_qwen3_moe.py): Llama
// with RMSNorm over each head of q and k.

namespace phyllo {
namespace {

constexpr int64_t kMaxLayers = 4096;

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  // head_dim: the reference's default is 128, not the quotient.
  ReadDecoder(reader, {.default_head_dim = false}, decoder);
  ReadAttentionBias(reader, decoder);
  for (LayerDescription& layer : decoder.layers) layer.attention.qk_norm = QkNorm::kHead;
}

void DescribeDense(ConfigReader& reader, DecoderDescription& decoder) {
  Describe(reader, decoder);
  const int64_t max_window_layers =
      reader.OptionalInteger("max_window_layers", 0, kMaxLayers).value_or(28);
  ReadSwitchedSlidingWindow(
      reader, [=](int64_t layer) { return layer >= max_window_layers; }, decoder);
}

void DescribeMoe(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader, {}, decoder);
  ReadAttentionBias(reader, decoder);
  ReadSwitchedSlidingWindow(
      reader, [](int64_t) { return true; }, decoder);
  const bool v5 = reader.Has("num_local_experts");
  ExpertsDescription experts =
      ReadExperts(reader, v5 ? "num_local_experts" : "num_experts", decoder);
  experts.norm_topk_prob = ReadBool(reader, "norm_topk_prob", false);
  const int64_t intermediate_size =
      ReadInteger(reader, "moe_intermediate_size", 1, kMaxIntermediateSize);
  const int64_t step = reader.OptionalInteger("decoder_sparse_step", 1, kMaxLayers).value_or(1);
  const std::vector<int64_t> dense = reader.IntegerList("mlp_only_layers", 0, kMaxLayers);
  for (int64_t i = 0; i < decoder.num_hidden_layers(); ++i) {
    LayerDescription& layer = decoder.layers[i];
    layer.attention.qk_norm = QkNorm::kHead;
    if ((i + 1) % step != 0 || std::count(dense.begin(), dense.end(), i) != 0) continue;
    layer.feed_forward.experts = experts;
    layer.feed_forward.intermediate_size = intermediate_size;
  }
}

}  // namespace

constinit const Family kQwen3 = {.model_type = "qwen3",
                                 .class_prefix = "Qwen3",
                                 .tie_word_embeddings = false,
                                 .describe = DescribeDense};

constinit const Family kQwen3Moe = {.model_type = "qwen3_moe",
                                    .class_prefix = "Qwen3Moe",
                                    .tie_word_embeddings = false,
                                    .describe = DescribeMoe};

}  // namespace phyllo
