// The parameters of a rotary position embedding, as a model's config gives them. rope.h has the
// formulas.
#ifndef PHYLLO_MODEL_CONFIG_ROPE_PARAMETERS_H_
#define PHYLLO_MODEL_CONFIG_ROPE_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace phyllo {

// How the rotary frequencies are scaled beyond the trained length.
enum class RopeType {
  kDefault,
  kLinear,
  kDynamic,
  kYarn,
  kLlama3,
  kLongrope,
  kMinimindYarn,       // MiniMind from 2025-12 on: YaRN, its range clamped to the half dimension
  kMinimindFirstYarn,  // MiniMind of 2025-10 and 2025-11: a formula of its own
};

// The name for messages, such as "llama3".
absl::string_view RopeTypeName(RopeType type);

// A field that the type does not use keeps its default.
struct RopeParameters {
  RopeType rope_type = RopeType::kDefault;
  double rope_theta = 10000.0;  // > 1
  double factor = 1.0;          // >= 1
  // The length the model was trained on before scaling: > 0; > 1 for longrope.
  int64_t original_max_position_embeddings = 0;
  double low_freq_factor = 1.0;   // llama3
  double high_freq_factor = 4.0;  // llama3; > low_freq_factor
  double beta_fast = 32.0;        // yarn
  double beta_slow = 1.0;         // yarn
  bool truncate = true;           // yarn: round the correction range to whole dimensions
  // yarn, longrope: multiplies cos and sin; absent = from factor
  std::optional<double> attention_factor;
  std::optional<double> mscale;          // yarn, DeepSeek's form
  std::optional<double> mscale_all_dim;  // yarn, DeepSeek's form
  // longrope: [rotary_dim / 2] each, > 0; what the frequencies of a sequence within the original
  // length, and of a longer one, are divided by.
  std::vector<double> short_factor;
  std::vector<double> long_factor;

  bool operator==(const RopeParameters&) const = default;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_ROPE_PARAMETERS_H_
