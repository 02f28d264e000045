// Reading of the RoPE of config.json.
#ifndef PHYLLO_MODEL_CONFIG_READER_ROPE_READER_H_
#define PHYLLO_MODEL_CONFIG_READER_ROPE_READER_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/reader/config_reader.h"
#include "model/config/reader/rope_options.h"
#include "model/config/rope_parameters.h"

namespace phyllo {

// Where a family's RoPE is in its config.json, and the defaults of the reference's config class.
struct RopeKeys {
  std::optional<double> default_rope_theta = std::nullopt;  // absent = the file must have one
  double default_partial_rotary_factor = 1.0;
  // The names of these two options in the outermost object.
  absl::string_view rope_theta = "rope_theta";
  absl::string_view partial_rotary_factor = "partial_rotary_factor";
  // See RopeOptions.
  absl::string_view layer_type = "";
  bool rope_scaling = true;
  bool yarn_means_longrope = false;  // the names "yarn" and "su" of Phi-3's first files
};

// The RoPE for heads of `head_dim`. Errors go to the reader's status: INVALID_ARGUMENT for missing,
// contradictory and out-of-range values and for an odd number of rotated elements, UNIMPLEMENTED
// for an unknown type or key.
RopeDescription ReadRope(ConfigReader& config, int64_t max_position_embeddings, int64_t head_dim,
                         const RopeKeys& keys);

// rope_theta, which must be over 1.
double ReadRopeTheta(ConfigReader& config, RopeOptions& options, const RopeKeys& keys);

// beta_fast and beta_slow, the correction range of YaRN, over the values that `rope` has.
void ReadRopeBetas(ConfigReader& config, RopeOptions& options, RopeParameters& rope);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_READER_ROPE_READER_H_
