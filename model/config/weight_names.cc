#include "model/config/weight_names.h"

#include "absl/strings/string_view.h"

namespace phyllo {

absl::string_view WeightRoleName(WeightRole role) {
  switch (role) {
    case WeightRole::kEmbedTokens:
      return "embed_tokens";
    case WeightRole::kEmbedPositions:
      return "embed_positions";
    case WeightRole::kInputNorm:
      return "input_norm";
    case WeightRole::kInputNormBias:
      return "input_norm.bias";
    case WeightRole::kQProj:
      return "q_proj";
    case WeightRole::kQProjBias:
      return "q_proj.bias";
    case WeightRole::kKProj:
      return "k_proj";
    case WeightRole::kKProjBias:
      return "k_proj.bias";
    case WeightRole::kVProj:
      return "v_proj";
    case WeightRole::kVProjBias:
      return "v_proj.bias";
    case WeightRole::kQNorm:
      return "q_norm";
    case WeightRole::kKNorm:
      return "k_norm";
    case WeightRole::kOProj:
      return "o_proj";
    case WeightRole::kOProjBias:
      return "o_proj.bias";
    case WeightRole::kAttentionOutputNorm:
      return "attention_output_norm";
    case WeightRole::kFeedForwardNorm:
      return "feed_forward_norm";
    case WeightRole::kFeedForwardNormBias:
      return "feed_forward_norm.bias";
    case WeightRole::kFeedForwardOutputNorm:
      return "feed_forward_output_norm";
    case WeightRole::kRouter:
      return "router";
    case WeightRole::kGateProj:
      return "gate_proj";
    case WeightRole::kGateProjBias:
      return "gate_proj.bias";
    case WeightRole::kUpProj:
      return "up_proj";
    case WeightRole::kUpProjBias:
      return "up_proj.bias";
    case WeightRole::kDownProj:
      return "down_proj";
    case WeightRole::kDownProjBias:
      return "down_proj.bias";
    case WeightRole::kFinalNorm:
      return "norm";
    case WeightRole::kFinalNormBias:
      return "norm.bias";
    case WeightRole::kLmHead:
      return "lm_head";
    case WeightRole::kLmHeadBias:
      return "lm_head.bias";
    case WeightRole::kScore:
      return "score";
  }
  return "unknown";
}

}  // namespace phyllo
