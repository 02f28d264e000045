// Reading of the RoPE options of config.json, wherever either key style puts them.
#ifndef PHYLLO_MODEL_CONFIG_ROPE_PARAMETERS_READER_H_
#define PHYLLO_MODEL_CONFIG_ROPE_PARAMETERS_READER_H_

#include <cstdint>
#include <optional>

#include "model/config/config_reader.h"
#include "model/config/model_config.h"

namespace phyllo {

// Reads `rope_parameters` (transformers 5), `rope_scaling` and `rope_theta` (transformers 4) of the
// outermost object. A key may sit in any of the three places, but must have one value.
// `default_rope_theta` is used where the file has none; absent = required. Errors go to the
// reader's status: INVALID_ARGUMENT for missing, contradictory and out-of-range values,
// UNIMPLEMENTED for an unknown type or key and for partial rotation.
RopeParameters ReadRopeParameters(ConfigReader& config, int64_t max_position_embeddings,
                                  std::optional<double> default_rope_theta);

// The same for model_type "minimind", where `inference_rope_scaling` decides, and not the type that
// the scaling dictionary names: true means MiniMind's YaRN if max_position_embeddings is over the
// original length. Which of its two formulas follows from the dictionary: the later one has an
// attention_factor. `third_generation` = MiniMind-3, which knows only the later one.
RopeParameters ReadMinimindRopeParameters(ConfigReader& config, int64_t max_position_embeddings,
                                          bool third_generation);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_ROPE_PARAMETERS_READER_H_
