#include "model/config/rope_parameters_reader.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/config/config_reader.h"
#include "model/config/model_config.h"

namespace phyllo {
namespace {

constexpr double kMaxTheta = 1e15;
constexpr double kMaxFactor = 1e6;
constexpr double kMaxPositions = 1 << 30;

constexpr absl::string_view kKnownKeys[] = {"rope_type",
                                            "type",
                                            "rope_theta",
                                            "factor",
                                            "original_max_position_embeddings",
                                            "low_freq_factor",
                                            "high_freq_factor",
                                            "beta_fast",
                                            "beta_slow",
                                            "attention_factor",
                                            "mscale",
                                            "mscale_all_dim",
                                            "truncate",
                                            "partial_rotary_factor"};

// The places where an option may be, in order of reading.
class RopeOptions {
 public:
  explicit RopeOptions(ConfigReader& config) : config_(config) {
    if (auto v5 = config.OptionalObject("rope_parameters")) dictionaries_.push_back(*std::move(v5));
    if (auto v4 = config.OptionalObject("rope_scaling")) dictionaries_.push_back(*std::move(v4));
  }

  bool has_dictionary() const { return !dictionaries_.empty(); }

  void RejectUnknownKeys() {
    for (ConfigReader& dictionary : dictionaries_) {
      for (const auto& item : dictionary.json().items()) {
        bool known = item.value().is_null();
        for (const absl::string_view key : kKnownKeys) known = known || key == item.key();
        if (!known)
          dictionary.FailUnsupported(absl::StrCat("option ", item.key(), " is not supported"));
      }
    }
  }

  // The type's name, from `rope_type` or the older `type`; "" if neither is there.
  std::string Type() {
    std::string type;
    for (ConfigReader& dictionary : dictionaries_) {
      for (const absl::string_view key : {"rope_type", "type"}) {
        const std::optional<std::string> value = dictionary.OptionalString(key);
        if (!value.has_value()) continue;
        if (!type.empty() && type != *value) Contradiction(key, type, *value);
        type = *value;
      }
    }
    return type;
  }

  // From the dictionaries, and from the outermost object if `also_outermost`.
  std::optional<double> Number(absl::string_view key, double min, double max,
                               bool also_outermost = false) {
    std::optional<double> result;
    const auto merge = [&](std::optional<double> value) {
      if (!value.has_value()) return;
      if (result.has_value() && *result != *value)
        Contradiction(key, absl::StrCat(*result), absl::StrCat(*value));
      result = value;
    };
    for (ConfigReader& dictionary : dictionaries_) merge(dictionary.OptionalNumber(key, min, max));
    if (also_outermost) merge(config_.OptionalNumber(key, min, max));
    return result;
  }

  double RequiredNumber(absl::string_view key, double min, double max,
                        bool also_outermost = false) {
    const std::optional<double> value = Number(key, min, max, also_outermost);
    if (!value.has_value()) config_.FailInvalid(absl::StrCat("RoPE option ", key, " is missing"));
    return value.value_or(min);
  }

  // A whole number of positions.
  std::optional<int64_t> Positions(absl::string_view key) {
    const std::optional<double> value = Number(key, 1, kMaxPositions, /*also_outermost=*/true);
    if (!value.has_value()) return std::nullopt;
    const int64_t positions = static_cast<int64_t>(*value);
    if (static_cast<double>(positions) != *value)
      config_.FailInvalid(absl::StrCat(key, " must be whole, is ", *value));
    return positions;
  }

  bool Bool(absl::string_view key, bool absent) {
    for (ConfigReader& dictionary : dictionaries_) {
      if (const std::optional<bool> value = dictionary.OptionalBool(key)) return *value;
    }
    return absent;
  }

 private:
  void Contradiction(absl::string_view key, absl::string_view a, absl::string_view b) {
    config_.FailInvalid(absl::StrCat("RoPE option ", key, " has two values, ", a, " and ", b));
  }

  ConfigReader& config_;
  std::vector<ConfigReader> dictionaries_;
};

std::optional<RopeType> ParseRopeType(absl::string_view name) {
  if (name == "default") return RopeType::kDefault;
  if (name == "linear") return RopeType::kLinear;
  if (name == "dynamic") return RopeType::kDynamic;
  if (name == "yarn") return RopeType::kYarn;
  if (name == "llama3") return RopeType::kLlama3;
  return std::nullopt;
}

void ReadTheta(ConfigReader& config, RopeOptions& options, std::optional<double> default_rope_theta,
               RopeParameters& rope) {
  const std::optional<double> theta =
      options.Number("rope_theta", 0.0, kMaxTheta, /*also_outermost=*/true);
  if (!theta.has_value() && !default_rope_theta.has_value())
    config.FailInvalid("rope_theta is missing");
  rope.rope_theta = theta.has_value() ? *theta : default_rope_theta.value_or(10000.0);
  if (!(rope.rope_theta > 1.0))
    config.FailInvalid(absl::StrCat("rope_theta must be over 1, is ", rope.rope_theta));
}

// The correction range of YaRN.
void ReadBetas(ConfigReader& config, RopeOptions& options, RopeParameters& rope) {
  rope.beta_fast = options.Number("beta_fast", 1e-3, 1e6).value_or(rope.beta_fast);
  rope.beta_slow = options.Number("beta_slow", 1e-3, 1e6).value_or(rope.beta_slow);
  if (rope.beta_fast < rope.beta_slow) {
    config.FailInvalid(absl::StrCat("beta_fast must not be under beta_slow, are ", rope.beta_fast,
                                    " and ", rope.beta_slow));
  }
  rope.attention_factor = options.Number("attention_factor", 1e-3, 1e3);
}

}  // namespace

RopeParameters ReadRopeParameters(ConfigReader& config, int64_t max_position_embeddings,
                                  std::optional<double> default_rope_theta) {
  RopeOptions options(config);
  options.RejectUnknownKeys();
  RopeParameters rope;
  ReadTheta(config, options, default_rope_theta, rope);
  const double rotated =
      options.Number("partial_rotary_factor", 0.0, 1.0, /*also_outermost=*/true).value_or(1.0);
  if (rotated != 1.0)
    config.FailUnsupported(absl::StrCat("partial_rotary_factor ", rotated, " is not supported"));

  std::string type = options.Type();
  if (type.empty() && options.Number("factor", 0, kMaxFactor).has_value()) {
    config.FailInvalid("RoPE scaling has a factor and no rope_type");
  }
  if (type.empty()) type = "default";
  const std::optional<RopeType> rope_type = ParseRopeType(type);
  if (!rope_type.has_value())
    config.FailUnsupported(absl::StrCat("rope_type \"", type, "\" is not supported"));
  rope.rope_type = rope_type.value_or(RopeType::kDefault);
  if (rope.rope_type == RopeType::kDefault) return rope;

  rope.factor = options.RequiredNumber("factor", 1.0, kMaxFactor);
  rope.original_max_position_embeddings =
      options.Positions("original_max_position_embeddings").value_or(max_position_embeddings);
  if (rope.rope_type == RopeType::kYarn) {
    ReadBetas(config, options, rope);
    rope.mscale = options.Number("mscale", 0.0, 1e3);
    rope.mscale_all_dim = options.Number("mscale_all_dim", 0.0, 1e3);
    rope.truncate = options.Bool("truncate", true);
  }
  if (rope.rope_type == RopeType::kLlama3) {
    rope.low_freq_factor = options.RequiredNumber("low_freq_factor", 1e-3, 1e6);
    rope.high_freq_factor = options.RequiredNumber("high_freq_factor", 1e-3, 1e6);
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      config.FailInvalid(absl::StrCat("high_freq_factor must be over low_freq_factor, are ",
                                      rope.high_freq_factor, " and ", rope.low_freq_factor));
    }
  }
  return rope;
}

RopeParameters ReadMinimindRopeParameters(ConfigReader& config, int64_t max_position_embeddings,
                                          bool third_generation) {
  RopeOptions options(config);
  RopeParameters rope;
  ReadTheta(config, options, std::nullopt, rope);
  if (!config.OptionalBool("inference_rope_scaling").value_or(false)) return rope;

  const bool later = third_generation || options.Number("attention_factor", 1e-3, 1e3).has_value();
  if (!third_generation && !options.Number("factor", 1.0, kMaxFactor).has_value()) {
    config.FailInvalid(
        "inference_rope_scaling needs rope_scaling with a factor: MiniMind2 had two formulas");
  }
  // What MiniMind's code writes where it scales; the file repeats it.
  rope.factor = options.Number("factor", 1.0, kMaxFactor).value_or(16.0);
  rope.original_max_position_embeddings =
      options.Positions("original_max_position_embeddings").value_or(2048);
  rope.beta_fast = later ? 32.0 : 4.0;
  ReadBetas(config, options, rope);
  if (later && !rope.attention_factor.has_value()) rope.attention_factor = 1.0;
  if (max_position_embeddings > rope.original_max_position_embeddings) {
    rope.rope_type = later ? RopeType::kMinimindYarn : RopeType::kMinimindFirstYarn;
  }
  return rope;
}

}  // namespace phyllo
