#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/rounding.h"
#include "model/config/decoder_description.h"
#include "model/config/families/decoder_reader.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/reader/config_reader.h"
#include "model/config/reader/rope_options.h"
#include "model/config/reader/rope_reader.h"
#include "model/config/rope_parameters.h"
#include "model/config/weight_names.h"

// MiniMind (github.com/jingyaogong/minimind). Its generations share one model_type; their own keys
// tell them apart:
//   dim               the first: Llama's own names and its interleaved RoPE
//   n_routed_experts  MiniMind2 and the tutorial variant "MiniMind_Dense"
//   num_experts       MiniMind-3: q/k norm

namespace phyllo {
namespace {

constexpr WeightName kFirstNames[] = {
    {WeightRole::kEmbedTokens, "tok_embeddings"},
    {WeightRole::kInputNorm, "layers.*.attention_norm"},
    {WeightRole::kQProj, "layers.*.attention.wq"},
    {WeightRole::kKProj, "layers.*.attention.wk"},
    {WeightRole::kVProj, "layers.*.attention.wv"},
    {WeightRole::kOProj, "layers.*.attention.wo"},
    {WeightRole::kFeedForwardNorm, "layers.*.ffn_norm"},
    {WeightRole::kGateProj, "layers.*.feed_forward.w1"},
    {WeightRole::kUpProj, "layers.*.feed_forward.w3"},
    {WeightRole::kDownProj, "layers.*.feed_forward.w2"},
    {WeightRole::kRouter, "layers.*.feed_forward.gate"},
    {WeightRole::kGateProj, "layers.*.feed_forward.experts.#.w1", WeightGroup::kExpert},
    {WeightRole::kUpProj, "layers.*.feed_forward.experts.#.w3", WeightGroup::kExpert},
    {WeightRole::kDownProj, "layers.*.feed_forward.experts.#.w2", WeightGroup::kExpert},
    {WeightRole::kGateProj, "layers.*.feed_forward.shared_experts.w1", WeightGroup::kSharedExpert},
    {WeightRole::kUpProj, "layers.*.feed_forward.shared_experts.w3", WeightGroup::kSharedExpert},
    {WeightRole::kDownProj, "layers.*.feed_forward.shared_experts.w2", WeightGroup::kSharedExpert},
    {WeightRole::kFinalNorm, "norm"},
    {WeightRole::kLmHead, "output"},
};

constexpr absl::string_view kFirstPrefixes[] = {""};
constexpr absl::string_view kFirstIgnored[] = {"pos_cis", "freqs_cos", "freqs_sin"};

constinit const WeightNames kFirstWeightNames = {
    .names = kFirstNames, .prefixes = kFirstPrefixes, .ignored = kFirstIgnored};

// The norms of "MiniMind_Dense" end in "weights".
constexpr WeightName kSecondNames[] = {
    {WeightRole::kInputNorm, "layers.*.input_layernorm"},
    {WeightRole::kInputNorm, "layers.*.input_layernorm", WeightGroup::kDense, ".weights"},
    {WeightRole::kFeedForwardNorm, "layers.*.post_attention_layernorm"},
    {WeightRole::kFeedForwardNorm, "layers.*.post_attention_layernorm", WeightGroup::kDense,
     ".weights"},
    {WeightRole::kFinalNorm, "norm"},
    {WeightRole::kFinalNorm, "norm", WeightGroup::kDense, ".weights"},
};

constinit const WeightNames kSecondWeightNames = {.base = &kLlamaWeightNames,
                                                  .names = kSecondNames};

// What the generations make of hidden_size for an intermediate_size that the file does not give.
// The first rounds it up to its own multiple_of.
int64_t EightThirds(int64_t hidden_size) { return hidden_size * 8 / 3; }

int64_t EightThirdsRoundedUp(int64_t hidden_size) { return RoundUp(EightThirds(hidden_size), 64); }

// 64 * ceil(pi * hidden_size / 64).
int64_t PiTimes(int64_t hidden_size) {
  constexpr double kPi = 3.14159265358979323846;
  const double exact = static_cast<double>(hidden_size) * kPi / 64.0;
  const int64_t whole = static_cast<int64_t>(exact);
  return 64 * (static_cast<double>(whole) < exact ? whole + 1 : whole);
}

// `inference_rope_scaling` decides, and not the type that the scaling dictionary names: true means
// MiniMind's YaRN if max_position_embeddings is over the original length. Which of its two formulas
// follows from the dictionary: the later one has an attention_factor.
void ReadScaling(ConfigReader& reader, bool third_generation, DecoderDescription& decoder) {
  if (!ReadBool(reader, "inference_rope_scaling", false)) return;
  RopeOptions options(reader, /*layer_type=*/"", /*with_rope_scaling=*/true);
  const std::optional<double> attention_factor = options.Number("attention_factor", 1e-3, 1e3);
  const std::optional<double> factor = options.Number("factor", 1.0, kMaxRopeFactor);
  if (!third_generation && !factor.has_value()) {
    reader.FailInvalid(
        "inference_rope_scaling needs rope_scaling with a factor: MiniMind2 had two formulas");
  }
  const bool later = third_generation || attention_factor.has_value();
  // What MiniMind's code writes where it scales; the file repeats it.
  RopeParameters& rope = decoder.ropes[0].parameters;
  rope.factor = factor.value_or(16.0);
  rope.original_max_position_embeddings =
      options.Positions("original_max_position_embeddings").value_or(2048);
  rope.beta_fast = later ? 32.0 : 4.0;
  ReadRopeBetas(reader, options, rope);
  if (later) rope.attention_factor = attention_factor.value_or(1.0);
  if (decoder.max_position_embeddings > rope.original_max_position_embeddings)
    rope.rope_type = later ? RopeType::kMinimindYarn : RopeType::kMinimindFirstYarn;
}

// Experts of the first two generations, whose probabilities are not divided by their sum if there
// is only one.
void ReadSoftmaxExperts(ConfigReader& reader, int64_t num_shared_experts,
                        DecoderDescription& decoder) {
  if (!ReadBool(reader, "use_moe", false)) return;
  const std::string scoring = reader.OptionalString("scoring_func").value_or("softmax");
  if (scoring != "softmax")
    reader.FailUnsupported(absl::StrCat("scoring_func \"", scoring, "\" is not supported"));
  ExpertsDescription experts = ReadExperts(reader, "n_routed_experts", decoder);
  experts.norm_topk_prob =
      ReadBool(reader, "norm_topk_prob", true) && experts.num_experts_per_tok > 1;
  experts.num_shared_experts = num_shared_experts;
  for (LayerDescription& layer : decoder.layers) layer.feed_forward.experts = experts;
}

void DescribeFirst(ConfigReader& reader, DecoderDescription& decoder) {
  ReadDecoder(reader,
              {.hidden_size = "dim",
               .intermediate_size = "hidden_dim",
               .num_hidden_layers = "n_layers",
               .num_attention_heads = "n_heads",
               .num_key_value_heads = "n_kv_heads",
               .max_position_embeddings = "max_seq_len",
               .norm_eps = "norm_eps",
               .default_intermediate_size = EightThirds,
               .default_multi_head = true,
               .default_hidden_act = "silu",
               .rope = RopeKeys{.default_rope_theta = 1e6},
               .weight_names = &kFirstWeightNames},
              decoder);
  decoder.ropes[0].layout = RopeLayout::kInterleaved;
  if (!reader.Has("hidden_dim")) {
    const int64_t multiple = ReadInteger(reader, "multiple_of", 1, kMaxIntermediateSize);
    for (LayerDescription& layer : decoder.layers) {
      int64_t& size = layer.feed_forward.intermediate_size;
      size = RoundUp(size, multiple);
    }
  }
  // Its shared experts are one feed-forward, whatever the value is.
  ReadSoftmaxExperts(reader, reader.Has("n_shared_experts") ? 1 : 0, decoder);
}

// MiniMind2 and MiniMind-3. Their rope_parameters and rope_scaling repeat what the flag says.
void ReadLater(ConfigReader& reader, DecoderKeys keys, DecoderDescription& decoder) {
  keys.rope = std::nullopt;
  ReadDecoder(reader, keys, decoder);
  RopeOptions options(reader, /*layer_type=*/"", /*with_rope_scaling=*/true);
  RopeDescription rope;
  rope.rotary_dim = decoder.layers[0].attention.head_dim;
  rope.parameters.rope_theta = ReadRopeTheta(reader, options, RopeKeys());
  if (rope.rotary_dim % 2 != 0)
    reader.FailInvalid(absl::StrCat("head_dim must be even for RoPE, is ", rope.rotary_dim));
  decoder.positions = PositionKind::kRope;
  decoder.ropes = {rope};
  for (LayerDescription& layer : decoder.layers) layer.attention.rope = 0;
}

void DescribeSecond(ConfigReader& reader, DecoderDescription& decoder) {
  ReadLater(
      reader,
      {.default_intermediate_size = EightThirdsRoundedUp, .weight_names = &kSecondWeightNames},
      decoder);
  ReadScaling(reader, /*third_generation=*/false, decoder);
  ReadSoftmaxExperts(reader, reader.OptionalInteger("n_shared_experts", 0, kMaxExperts).value_or(0),
                     decoder);
}

void DescribeThird(ConfigReader& reader, DecoderDescription& decoder) {
  ReadLater(reader, {.default_intermediate_size = PiTimes}, decoder);
  ReadScaling(reader, /*third_generation=*/true, decoder);
  for (LayerDescription& layer : decoder.layers) layer.attention.qk_norm = QkNorm::kHead;
  if (!ReadBool(reader, "use_moe", false)) return;
  ExpertsDescription experts = ReadExperts(reader, "num_experts", decoder);
  experts.norm_topk_prob = ReadBool(reader, "norm_topk_prob", true);
  const std::optional<int64_t> size =
      reader.OptionalInteger("moe_intermediate_size", 1, kMaxIntermediateSize);
  for (LayerDescription& layer : decoder.layers) {
    layer.feed_forward.experts = experts;
    if (size.has_value()) layer.feed_forward.intermediate_size = *size;
  }
}

void Describe(ConfigReader& reader, DecoderDescription& decoder) {
  const bool second = reader.Has("n_routed_experts");
  const bool third = reader.Has("num_experts");
  if (reader.Has("dim")) return DescribeFirst(reader, decoder);
  if (second == third) {
    reader.FailInvalid(
        "model_type minimind needs either n_routed_experts (MiniMind2) or num_experts "
        "(MiniMind-3)");
    return;
  }
  second ? DescribeSecond(reader, decoder) : DescribeThird(reader, decoder);
}

constexpr Architecture kArchitectures[] = {{"MiniMindLM", HeadKind::kLmHead}};

}  // namespace

constinit const Family kMinimind = {.model_type = "minimind",
                                    .class_prefix = "MiniMind",
                                    .other_architectures = kArchitectures,
                                    .tie_word_embeddings = true,
                                    .describe = Describe};

}  // namespace phyllo
