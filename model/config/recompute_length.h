// When a growing sequence loses its cached keys because their rotation no longer fits its length.
#ifndef PHYLLO_MODEL_CONFIG_RECOMPUTE_LENGTH_H_
#define PHYLLO_MODEL_CONFIG_RECOMPUTE_LENGTH_H_

#include <cstdint>
#include <optional>

#include "model/config/model_config.h"

namespace phyllo {

// The number of tokens of prompt and answer at which a sequence whose prompt was shorter is
// computed anew from its first token, with the rotations of that length: for Phi-3 with longrope,
// original_max_position_embeddings + 1, as Phi3ForCausalLM.prepare_inputs_for_generation of
// transformers does. Absent for all others: there the reference's generation keeps cached keys as
// they are, with RoPE type dynamic too.
std::optional<int64_t> RecomputeLength(const ModelConfig& config);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_RECOMPUTE_LENGTH_H_
