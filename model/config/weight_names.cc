#include "model/config/weight_names.h"

#include "absl/strings/string_view.h"

namespace phyllo {
namespace {

struct RoleName {
  WeightRole role;
  absl::string_view name;
};

constexpr RoleName kRoleNames[] = {
    {WeightRole::kEmbedTokens, "embed_tokens"},
    {WeightRole::kEmbedPositions, "embed_positions"},
    {WeightRole::kInputNorm, "input_norm"},
    {WeightRole::kInputNormBias, "input_norm.bias"},
    {WeightRole::kQProj, "q_proj"},
    {WeightRole::kQProjBias, "q_proj.bias"},
    {WeightRole::kKProj, "k_proj"},
    {WeightRole::kKProjBias, "k_proj.bias"},
    {WeightRole::kVProj, "v_proj"},
    {WeightRole::kVProjBias, "v_proj.bias"},
    {WeightRole::kQNorm, "q_norm"},
    {WeightRole::kKNorm, "k_norm"},
    {WeightRole::kOProj, "o_proj"},
    {WeightRole::kOProjBias, "o_proj.bias"},
    {WeightRole::kAttentionOutputNorm, "attention_output_norm"},
    {WeightRole::kFeedForwardNorm, "feed_forward_norm"},
    {WeightRole::kFeedForwardNormBias, "feed_forward_norm.bias"},
    {WeightRole::kFeedForwardOutputNorm, "feed_forward_output_norm"},
    {WeightRole::kRouter, "router"},
    {WeightRole::kGateProj, "gate_proj"},
    {WeightRole::kGateProjBias, "gate_proj.bias"},
    {WeightRole::kUpProj, "up_proj"},
    {WeightRole::kUpProjBias, "up_proj.bias"},
    {WeightRole::kDownProj, "down_proj"},
    {WeightRole::kDownProjBias, "down_proj.bias"},
    {WeightRole::kFinalNorm, "norm"},
    {WeightRole::kFinalNormBias, "norm.bias"},
    {WeightRole::kLmHead, "lm_head"},
    {WeightRole::kLmHeadBias, "lm_head.bias"},
    {WeightRole::kScore, "score"},
};

}  // namespace

absl::string_view WeightRoleName(WeightRole role) {
  for (const RoleName& line : kRoleNames) {
    if (line.role == role) return line.name;
  }
  return "unknown";
}

}  // namespace phyllo
