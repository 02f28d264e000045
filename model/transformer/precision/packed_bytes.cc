#include "model/transformer/precision/packed_bytes.h"

#include <map>
#include <optional>
#include <tuple>

#include "model/base/rounding.h"
#include "model/config/weight_map.h"
#include "model/config/weight_names.h"
#include "model/onednn/packed_linear.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"

namespace phyllo {
namespace {

// The first of the matrices that are packed behind each other as one: q, k and v; gate and up.
WeightRole FirstOfFused(WeightRole role) {
  switch (role) {
    case WeightRole::kKProj:
    case WeightRole::kVProj:
      return WeightRole::kQProj;
    case WeightRole::kUpProj:
      return WeightRole::kGateProj;
    default:
      return role;
  }
}

// What a matrix is packed in; absent if it is not packed, or is no matrix.
std::optional<Precision> PackedPrecision(WeightRole role, const DecoderDescription& description,
                                         const ModelPrecision& precision) {
  switch (role) {
    case WeightRole::kQProj:
    case WeightRole::kKProj:
    case WeightRole::kVProj:
    case WeightRole::kOProj:
      return precision.attention;
    case WeightRole::kGateProj:
    case WeightRole::kUpProj:
    case WeightRole::kDownProj:
      return precision.feed_forward;
    case WeightRole::kRouter:
      return Precision::kF32;
    case WeightRole::kLmHead:
      return precision.lm_head;
    case WeightRole::kEmbedTokens:  // packed where it is the head, else read where it lies
      if (description.head == HeadKind::kLmHead && description.tie_word_embeddings)
        return precision.lm_head;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool IsNorm(WeightRole role) {
  switch (role) {
    case WeightRole::kInputNorm:
    case WeightRole::kInputNormBias:
    case WeightRole::kQNorm:
    case WeightRole::kKNorm:
    case WeightRole::kAttentionOutputNorm:
    case WeightRole::kFeedForwardNorm:
    case WeightRole::kFeedForwardNormBias:
    case WeightRole::kFeedForwardOutputNorm:
    case WeightRole::kFinalNorm:
    case WeightRole::kFinalNormBias:
      return true;
    default:  // biases of matrices are packed with them
      return false;
  }
}

}  // namespace

int64_t PackedWeightBytes(const DecoderDescription& description, const ModelPrecision& precision) {
  // By role, layer and expert.
  std::map<std::tuple<WeightRole, int64_t, int64_t>, PackedLinear::Spec> linears;
  int64_t bytes = 0;
  for (const WeightSpec& spec : BuildWeightMap(description).specs) {
    if (const auto packed = PackedPrecision(spec.role, description, precision)) {
      PackedLinear::Spec& linear = linears[{FirstOfFused(spec.role), spec.layer, spec.expert}];
      linear.in_features = spec.columns;
      linear.out_features += spec.rows;
      linear.precision = *packed;
    } else if (IsNorm(spec.role)) {
      bytes += RoundUp(spec.rows * static_cast<int64_t>(sizeof(float)), HugePageArena::kAlignment);
    }
  }
  for (const auto& [name, linear] : linears) bytes += PackedLinear::PackedBytes(linear);
  return bytes;
}

}  // namespace phyllo
