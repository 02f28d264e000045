// What the tensors of a checkpoint are called, as a table for each family.
#ifndef PHYLLO_MODEL_CONFIG_WEIGHT_NAMES_H_
#define PHYLLO_MODEL_CONFIG_WEIGHT_NAMES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace phyllo {

// What a weight is for. Matrices are [out_features, in_features], y = x W^T + bias.
enum class WeightRole {
  kEmbedTokens,            // [v, d]
  kEmbedPositions,         // [max_position_embeddings, d]
  kInputNorm,              // [d], before attention
  kInputNormBias,          // [d]
  kQProj,                  // [h * hd, d]
  kQProjBias,              // [h * hd]
  kKProj,                  // [kv * hd, d]
  kKProjBias,              // [kv * hd]
  kVProj,                  // [kv * hd, d]
  kVProjBias,              // [kv * hd]
  kQNorm,                  // [hd], or [h * hd] with QkNorm::kProjection
  kKNorm,                  // [hd], or [kv * hd] with QkNorm::kProjection
  kOProj,                  // [d, h * hd]
  kOProjBias,              // [d]
  kAttentionOutputNorm,    // [d], behind attention
  kFeedForwardNorm,        // [d], before the feed-forward
  kFeedForwardNormBias,    // [d]
  kFeedForwardOutputNorm,  // [d], behind the feed-forward
  kRouter,                 // [num_experts, d]
  kGateProj,               // [intermediate_size, d]
  kGateProjBias,           // [intermediate_size]
  kUpProj,                 // [intermediate_size, d]
  kUpProjBias,             // [intermediate_size]
  kDownProj,               // [d, intermediate_size]
  kDownProjBias,           // [d]
  kFinalNorm,              // [d]
  kFinalNormBias,          // [d]
  kLmHead,                 // [v, d]; absent if tied
  kLmHeadBias,             // [v]
  kScore,                  // [num_labels, d]
};

// The name for messages and tables, such as "q_proj".
absl::string_view WeightRoleName(WeightRole role);

// Which feed-forward of a layer a matrix belongs to.
enum class WeightGroup {
  kDense,         // a layer without experts; also every weight outside the feed-forward
  kExpert,        // one of the experts that the router chooses from
  kSharedExpert,  // one that serves every row
};

// One line of a table. Several lines of one role and group are names of which a file has one.
struct WeightName {
  // Of the matrix or of the norm. A bias has no line: it stands beside the weight, as "bias".
  WeightRole role;
  // Without the prefixes of the table; absolute for kLmHead and kScore. '*' stands for the number
  // of the layer and '#' for that of the expert, counted within its group.
  absl::string_view module;
  WeightGroup group = WeightGroup::kDense;
  absl::string_view suffix = ".weight";
};

// In what order a tensor holds the rows of several weights. Weights are fused if one layer gives
// them the same name: q, k and v, or gate and up.
enum class FusedRows {
  kStacked,  // all rows of q, then all of k, then all of v
  kPerHead,  // for each key/value head its rows of q, then of k, then of v (GPT-NeoX)
};

// A table, of static lifetime.
struct WeightNames {
  // Where a role is not in `names`; may be null.
  const WeightNames* base = nullptr;
  absl::Span<const WeightName> names = {};
  // Stand before every module, and are alternatives; the preferred one first.
  absl::Span<const absl::string_view> prefixes = {};
  // Tensors that may occur and are not weights (mask buffers, rotary tables), without the prefixes.
  absl::Span<const absl::string_view> ignored = {};
  FusedRows fused_rows = FusedRows::kStacked;
  bool in_out = false;  // matrices of the layers are [in_features, out_features] (GPT-2's Conv1D)
  // One tensor [num_experts, out_features, in_features] holds a matrix of all experts (GGUF).
  bool stacked_experts = false;
  // The rows of each head of q and k are in the order that interleaved RoPE wants: rows 2 i and
  // 2 i + 1 of the tensor are rows i and i + head_dim / 2 (GGUF's Llama).
  bool interleaved_heads = false;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_WEIGHT_NAMES_H_
