#include "model/config/reader/rope_reader.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/reader/config_reader.h"
#include "model/config/reader/rope_options.h"
#include "model/config/rope_parameters.h"

namespace phyllo {
namespace {

std::optional<RopeType> ParseRopeType(absl::string_view name, bool yarn_means_longrope) {
  if (yarn_means_longrope && (name == "yarn" || name == "su")) return RopeType::kLongrope;
  if (name == "default") return RopeType::kDefault;
  if (name == "linear") return RopeType::kLinear;
  if (name == "dynamic") return RopeType::kDynamic;
  if (name == "yarn") return RopeType::kYarn;
  if (name == "llama3") return RopeType::kLlama3;
  if (name == "longrope") return RopeType::kLongrope;
  return std::nullopt;
}

RopeType ReadRopeType(ConfigReader& config, RopeOptions& options, bool yarn_means_longrope) {
  std::string name = options.Type();
  if (name.empty() && options.Number("factor", 0, kMaxRopeFactor).has_value()) {
    config.FailInvalid("RoPE scaling has a factor and no rope_type");
  }
  if (name.empty()) name = "default";
  const std::optional<RopeType> type = ParseRopeType(name, yarn_means_longrope);
  if (!type.has_value())
    config.FailUnsupported(absl::StrCat("rope_type \"", name, "\" is not supported"));
  return type.value_or(RopeType::kDefault);
}

// int(head_dim * partial_rotary_factor).
int64_t ReadRotaryDim(ConfigReader& config, RopeOptions& options, int64_t head_dim,
                      const RopeKeys& keys) {
  const double factor =
      options.Number("partial_rotary_factor", 0.0, 1.0, keys.partial_rotary_factor)
          .value_or(keys.default_partial_rotary_factor);
  const int64_t rotary_dim = static_cast<int64_t>(static_cast<double>(head_dim) * factor);
  const absl::string_view what = factor == 1.0 ? "head_dim" : "head_dim * partial_rotary_factor";
  if (rotary_dim % 2 != 0) {
    config.FailInvalid(absl::StrCat(what, " must be even for RoPE, is ", rotary_dim));
  } else if (rotary_dim == 0) {
    config.FailInvalid(absl::StrCat(what, " must be at least 2 for RoPE, is 0"));
  }
  return rotary_dim;
}

void ReadYarn(ConfigReader& config, RopeOptions& options, RopeParameters& rope) {
  ReadRopeBetas(config, options, rope);
  rope.attention_factor = options.Number("attention_factor", 1e-3, 1e3);
  rope.mscale = options.Number("mscale", 0.0, 1e3);
  rope.mscale_all_dim = options.Number("mscale_all_dim", 0.0, 1e3);
  rope.truncate = options.Bool("truncate", true);
}

void ReadLlama3(ConfigReader& config, RopeOptions& options, RopeParameters& rope) {
  rope.low_freq_factor = options.RequiredNumber("low_freq_factor", 1e-3, 1e6);
  rope.high_freq_factor = options.RequiredNumber("high_freq_factor", 1e-3, 1e6);
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    config.FailInvalid(absl::StrCat("high_freq_factor must be over low_freq_factor, are ",
                                    rope.high_freq_factor, " and ", rope.low_freq_factor));
  }
}

std::vector<double> ReadFactors(ConfigReader& config, RopeOptions& options, absl::string_view key,
                                int64_t count) {
  std::vector<double> factors = options.NumberList(key, 1e-6, kMaxRopeFactor);
  if (static_cast<int64_t>(factors.size()) != count) {
    config.FailInvalid(absl::StrCat("RoPE option ", key, " must have ", count,
                                    " numbers, one for each rotated pair, has ", factors.size()));
  }
  return factors;
}

void ReadLongrope(ConfigReader& config, RopeOptions& options, int64_t max_position_embeddings,
                  int64_t rotary_dim, RopeParameters& rope) {
  rope.short_factor = ReadFactors(config, options, "short_factor", rotary_dim / 2);
  rope.long_factor = ReadFactors(config, options, "long_factor", rotary_dim / 2);
  rope.attention_factor = options.Number("attention_factor", 1e-3, 1e3);
  const std::optional<int64_t> original = options.Positions("original_max_position_embeddings");
  if (!original.has_value() || *original < 2) {
    config.FailInvalid("longrope needs an original_max_position_embeddings of at least 2");
  }
  rope.original_max_position_embeddings = original.value_or(2);
  rope.factor = options.Number("factor", 0.0, kMaxRopeFactor)
                    .value_or(static_cast<double>(max_position_embeddings) /
                              static_cast<double>(rope.original_max_position_embeddings));
}

}  // namespace

double ReadRopeTheta(ConfigReader& config, RopeOptions& options, const RopeKeys& keys) {
  const std::optional<double> theta =
      options.Number("rope_theta", 0.0, kMaxRopeTheta, keys.rope_theta);
  if (!theta.has_value() && !keys.default_rope_theta.has_value())
    config.FailInvalid(absl::StrCat(keys.rope_theta, " is missing"));
  const double value = theta.has_value() ? *theta : keys.default_rope_theta.value_or(10000.0);
  if (!(value > 1.0))
    config.FailInvalid(absl::StrCat(keys.rope_theta, " must be over 1, is ", value));
  return value;
}

void ReadRopeBetas(ConfigReader& config, RopeOptions& options, RopeParameters& rope) {
  rope.beta_fast = options.Number("beta_fast", 1e-3, 1e6).value_or(rope.beta_fast);
  rope.beta_slow = options.Number("beta_slow", 1e-3, 1e6).value_or(rope.beta_slow);
  if (rope.beta_fast < rope.beta_slow) {
    config.FailInvalid(absl::StrCat("beta_fast must not be under beta_slow, are ", rope.beta_fast,
                                    " and ", rope.beta_slow));
  }
}

RopeDescription ReadRope(ConfigReader& config, int64_t max_position_embeddings, int64_t head_dim,
                         const RopeKeys& keys) {
  RopeOptions options(config, keys.layer_type, keys.rope_scaling);
  options.RejectUnknownKeys();
  RopeDescription description;
  RopeParameters& rope = description.parameters;
  rope.rope_theta = ReadRopeTheta(config, options, keys);
  rope.rope_type = ReadRopeType(config, options, keys.yarn_means_longrope);
  description.rotary_dim = ReadRotaryDim(config, options, head_dim, keys);
  if (rope.rope_type == RopeType::kDefault) return description;
  if (rope.rope_type == RopeType::kLongrope) {
    ReadLongrope(config, options, max_position_embeddings, description.rotary_dim, rope);
    return description;
  }
  rope.factor = options.RequiredNumber("factor", 1.0, kMaxRopeFactor);
  rope.original_max_position_embeddings =
      options.Positions("original_max_position_embeddings").value_or(max_position_embeddings);
  if (rope.rope_type == RopeType::kYarn) ReadYarn(config, options, rope);
  if (rope.rope_type == RopeType::kLlama3) ReadLlama3(config, options, rope);
  return description;
}

}  // namespace phyllo
