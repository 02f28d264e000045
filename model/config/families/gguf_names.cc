#include "model/config/families/gguf_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/reader/config_reader.h"
#include "model/config/weight_names.h"

// Names: gguf-py, gguf/constants.py, TENSOR_NAMES. Layouts: modify_tensors of the model classes in
// llama.cpp's convert_hf_to_gguf.py. The tables have every role, so that whatever a config asks for
// has a name.

namespace phyllo {
namespace {

using Role = WeightRole;

constexpr WeightName kNames[] = {
    {Role::kEmbedTokens, "token_embd"},
    {Role::kEmbedPositions, "position_embd"},
    {Role::kInputNorm, "blk.*.attn_norm"},
    {Role::kQProj, "blk.*.attn_q"},
    {Role::kKProj, "blk.*.attn_k"},
    {Role::kVProj, "blk.*.attn_v"},
    {Role::kQNorm, "blk.*.attn_q_norm"},
    {Role::kKNorm, "blk.*.attn_k_norm"},
    {Role::kOProj, "blk.*.attn_output"},
    {Role::kAttentionOutputNorm, "blk.*.post_attention_norm"},
    {Role::kFeedForwardNorm, "blk.*.ffn_norm"},
    {Role::kFeedForwardOutputNorm, "blk.*.post_ffw_norm"},
    {Role::kRouter, "blk.*.ffn_gate_inp"},
    {Role::kGateProj, "blk.*.ffn_gate"},
    {Role::kUpProj, "blk.*.ffn_up"},
    {Role::kDownProj, "blk.*.ffn_down"},
    {Role::kGateProj, "blk.*.ffn_gate_exps", WeightGroup::kExpert},
    {Role::kUpProj, "blk.*.ffn_up_exps", WeightGroup::kExpert},
    {Role::kDownProj, "blk.*.ffn_down_exps", WeightGroup::kExpert},
    {Role::kFinalNorm, "output_norm"},
    {Role::kLmHead, "output"},
    {Role::kScore, "cls.output"},
};

constexpr WeightName kFusedQkv[] = {
    {Role::kQProj, "blk.*.attn_qkv"},
    {Role::kKProj, "blk.*.attn_qkv"},
    {Role::kVProj, "blk.*.attn_qkv"},
};

constexpr WeightName kFusedQkvAndGateUp[] = {
    {Role::kQProj, "blk.*.attn_qkv"}, {Role::kKProj, "blk.*.attn_qkv"},
    {Role::kVProj, "blk.*.attn_qkv"}, {Role::kGateProj, "blk.*.ffn_up"},
    {Role::kUpProj, "blk.*.ffn_up"},
};

constexpr absl::string_view kPrefixes[] = {""};

// Factors of RoPE's frequencies, which the config has.
constexpr absl::string_view kIgnored[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                          "rope_factors_short.weight"};

constinit const WeightNames kPlain = {
    .names = kNames, .prefixes = kPrefixes, .ignored = kIgnored, .stacked_experts = true};

constinit const WeightNames kLlama = {
    .base = &kPlain, .stacked_experts = true, .interleaved_heads = true};

constinit const WeightNames kQkv = {.base = &kPlain, .names = kFusedQkv};

constinit const WeightNames kQkvAndGateUp = {.base = &kPlain, .names = kFusedQkvAndGateUp};

struct NamesOf {
  absl::string_view model_type;
  const WeightNames* names;
};

constexpr NamesOf kFamilies[] = {
    {"gemma", &kPlain},       {"gemma2", &kPlain},  {"gemma3_text", &kPlain},
    {"gpt2", &kQkv},          {"gpt_neox", &kQkv},  {"granite", &kLlama},
    {"llama", &kLlama},       {"mixtral", &kLlama}, {"olmo2", &kPlain},
    {"phi3", &kQkvAndGateUp}, {"qwen2", &kPlain},   {"qwen3", &kPlain},
    {"qwen3_moe", &kPlain},   {"smollm3", &kLlama},
};

}  // namespace

void UseGgufNames(ConfigReader& reader, absl::string_view model_type, DecoderDescription& decoder) {
  for (const NamesOf& family : kFamilies) {
    if (family.model_type != model_type) continue;
    decoder.weight_names = family.names;
    decoder.norm.weight_offset = 0.0f;
    return;
  }
  reader.FailUnsupported(
      absl::StrCat("weight_names \"gguf\" is not supported with model_type \"", model_type, "\""));
}

}  // namespace phyllo
