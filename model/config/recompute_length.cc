#include "model/config/recompute_length.h"

namespace phyllo {

std::optional<int64_t> RecomputeLength(const ModelConfig& config) {
  if (config.model_type != "phi3") return std::nullopt;
  for (const RopeDescription& rope : config.decoder.ropes) {
    if (rope.parameters.rope_type == RopeType::kLongrope)
      return rope.parameters.original_max_position_embeddings + 1;
  }
  return std::nullopt;
}

}  // namespace phyllo
