#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"
#include "model/config/weight_names.h"

// Gemma 1, 2 and 3 without images (transformers, modeling_gemma.py, modeling_gemma2.py,
// modeling_gemma3.py): norms of 1 + weight, embeddings scaled by sqrt(hidden_size).

namespace phyllo {
namespace {

// Gemma 2 and 3 have a norm before and one behind each half of a layer.
constexpr WeightName kFourNorms[] = {
    {WeightRole::kAttentionOutputNorm, "layers.*.post_attention_layernorm"},
    {WeightRole::kFeedForwardNorm, "layers.*.pre_feedforward_layernorm"},
    {WeightRole::kFeedForwardOutputNorm, "layers.*.post_feedforward_layernorm"},
};

constinit const WeightNames kFourNormNames = {.base = &kLlamaWeightNames, .names = kFourNorms};

// What the three have in common.
void DescribeCommon(ConfigReader& reader, DecoderKeys keys, DecoderDescription& decoder) {
  keys.default_head_dim = false;  // the reference's default is 256, not the quotient
  keys.norm.weight_offset = 1.0f;
  ReadDecoder(reader, keys, decoder);
  ReadAttentionBias(reader, decoder);
  decoder.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(decoder.hidden_size)));
}

void DescribeGemma(ConfigReader& reader, DecoderDescription& decoder) {
  DescribeCommon(reader, {.rope = RopeKeys{.default_rope_theta = 1e4}}, decoder);
  // The first files say "gelu" and were trained with the approximation, which a later key says;
  // the reference computes it for both.
  const std::string act = reader.OptionalString("hidden_act").value_or("");
  const bool approximate = act == "gelu" || reader.Has("hidden_activation");
  if (!approximate) return;
  const Activation activation = ReadActivation(reader, "hidden_activation", "gelu_pytorch_tanh");
  for (LayerDescription& layer : decoder.layers) layer.feed_forward.activation = activation;
}

// Gemma 2, and Gemma 3 up to its q/k norms and RoPE.
void DescribeFourNorms(ConfigReader& reader, const RopeKeys& rope, int64_t full_attention_interval,
                       DecoderDescription& decoder) {
  DescribeCommon(reader,
                 {.hidden_act = "hidden_activation",
                  .default_hidden_act = "gelu_pytorch_tanh",
                  .rope = rope,
                  .weight_names = &kFourNormNames},
                 decoder);
  const auto slides = [=](int64_t layer) { return (layer + 1) % full_attention_interval != 0; };
  ReadSlidingWindow(reader, /*absent=*/4096, slides, decoder);
  const double scalar = ReadNumber(reader, "query_pre_attn_scalar", 1e-3, 1e6, 256.0);
  for (LayerDescription& layer : decoder.layers) {
    layer.attention.scale = static_cast<float>(1.0 / std::sqrt(scalar));
    layer.attention_output_norm = true;
    layer.feed_forward_output_norm = true;
  }
}

// A soft cap; null is none.
float ReadSoftCap(ConfigReader& reader, absl::string_view key, double absent) {
  if (IsNull(reader, key)) absent = 0.0;
  return static_cast<float>(ReadNumber(reader, key, 1e-3, 1e6, absent));
}

void ReadSoftCaps(ConfigReader& reader, double attention, double logits,
                  DecoderDescription& decoder) {
  const float cap = ReadSoftCap(reader, "attn_logit_softcapping", attention);
  for (LayerDescription& layer : decoder.layers) layer.attention.soft_cap = cap;
  decoder.logits_soft_cap = ReadSoftCap(reader, "final_logit_softcapping", logits);
}

void DescribeGemma2(ConfigReader& reader, DecoderDescription& decoder) {
  DescribeFourNorms(reader, {.default_rope_theta = 1e4}, /*full_attention_interval=*/2, decoder);
  ReadSoftCaps(reader, 50.0, 30.0, decoder);
}

void DescribeGemma3(ConfigReader& reader, DecoderDescription& decoder) {
  const int64_t interval = reader.OptionalInteger("sliding_window_pattern", 1, 4096).value_or(6);
  DescribeFourNorms(reader, {.default_rope_theta = 1e6, .layer_type = "full_attention"}, interval,
                    decoder);
  ReadSoftCaps(reader, 0.0, 0.0, decoder);
  // Layers that slide have a RoPE of their own, which is never scaled.
  decoder.ropes.push_back(ReadRope(reader, decoder.max_position_embeddings,
                                   decoder.layers[0].attention.head_dim,
                                   {.default_rope_theta = 1e4,
                                    .rope_theta = "rope_local_base_freq",
                                    .layer_type = "sliding_attention",
                                    .rope_scaling = false}));
  for (LayerDescription& layer : decoder.layers) {
    layer.attention.qk_norm = QkNorm::kHead;
    if (layer.attention.sliding_window.has_value()) layer.attention.rope = 1;
  }
}

constexpr Architecture kGemma3Architectures[] = {{"Gemma3ForCausalLM", HeadKind::kLmHead}};

}  // namespace

constinit const Family kGemma = {.model_type = "gemma",
                                 .class_prefix = "Gemma",
                                 .tie_word_embeddings = true,
                                 .describe = DescribeGemma};

constinit const Family kGemma2 = {.model_type = "gemma2",
                                  .class_prefix = "Gemma2",
                                  .tie_word_embeddings = true,
                                  .describe = DescribeGemma2};

constinit const Family kGemma3Text = {.model_type = "gemma3_text",
                                      .class_prefix = "Gemma3Text",
                                      .other_architectures = kGemma3Architectures,
                                      .tie_word_embeddings = true,
                                      .describe = DescribeGemma3};

}  // namespace phyllo
