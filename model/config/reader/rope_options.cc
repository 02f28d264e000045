#include "model/config/reader/rope_options.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/config/reader/config_reader.h"

namespace phyllo {
namespace {

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
                                            "short_factor",
                                            "long_factor",
                                            "partial_rotary_factor"};

}  // namespace

RopeOptions::RopeOptions(ConfigReader& config, absl::string_view layer_type, bool with_rope_scaling)
    : config_(config) {
  std::optional<ConfigReader> v5 = config.OptionalObject("rope_parameters");
  if (v5.has_value() && !layer_type.empty()) v5 = v5->OptionalObject(layer_type);
  if (v5.has_value()) dictionaries_.push_back(*std::move(v5));
  std::optional<ConfigReader> v4 = config.OptionalObject("rope_scaling");
  if (v4.has_value() && with_rope_scaling) dictionaries_.push_back(*std::move(v4));
}

void RopeOptions::RejectUnknownKeys() {
  for (ConfigReader& dictionary : dictionaries_) {
    for (const auto& item : dictionary.json().items()) {
      bool known = item.value().is_null();
      for (const absl::string_view key : kKnownKeys) known = known || key == item.key();
      if (!known)
        dictionary.FailUnsupported(absl::StrCat("option ", item.key(), " is not supported"));
    }
  }
}

std::string RopeOptions::Type() {
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

std::optional<double> RopeOptions::Number(absl::string_view key, double min, double max,
                                          absl::string_view outermost_key) {
  std::optional<double> result;
  const auto merge = [&](std::optional<double> value) {
    if (!value.has_value()) return;
    if (result.has_value() && *result != *value)
      Contradiction(key, absl::StrCat(*result), absl::StrCat(*value));
    result = value;
  };
  for (ConfigReader& dictionary : dictionaries_) merge(dictionary.OptionalNumber(key, min, max));
  if (!outermost_key.empty()) merge(config_.OptionalNumber(outermost_key, min, max));
  return result;
}

double RopeOptions::RequiredNumber(absl::string_view key, double min, double max) {
  const std::optional<double> value = Number(key, min, max);
  if (!value.has_value()) config_.FailInvalid(absl::StrCat("RoPE option ", key, " is missing"));
  return value.value_or(min);
}

std::optional<int64_t> RopeOptions::Positions(absl::string_view key) {
  const std::optional<double> value = Number(key, 1, kMaxPositions, key);
  if (!value.has_value()) return std::nullopt;
  const int64_t positions = static_cast<int64_t>(*value);
  if (static_cast<double>(positions) != *value)
    config_.FailInvalid(absl::StrCat(key, " must be whole, is ", *value));
  return positions;
}

bool RopeOptions::Bool(absl::string_view key, bool absent) {
  for (ConfigReader& dictionary : dictionaries_) {
    if (const std::optional<bool> value = dictionary.OptionalBool(key)) return *value;
  }
  return absent;
}

std::vector<double> RopeOptions::NumberList(absl::string_view key, double min, double max) {
  for (ConfigReader& dictionary : dictionaries_) {
    if (!dictionary.Has(key)) continue;
    const nlohmann::json& list = dictionary.json()[std::string(key)];
    std::vector<double> numbers;
    if (!list.is_array()) dictionary.FailInvalid(absl::StrCat(key, " must be a list of numbers"));
    for (const nlohmann::json& element : list) {
      const double number = element.is_number() ? element.get<double>() : min - 1.0;
      if (!(number >= min && number <= max)) {
        dictionary.FailInvalid(
            absl::StrCat(key, " must be a list of numbers in ", min, " .. ", max));
        return {};
      }
      numbers.push_back(number);
    }
    return numbers;
  }
  return {};
}

void RopeOptions::Contradiction(absl::string_view key, absl::string_view a, absl::string_view b) {
  config_.FailInvalid(absl::StrCat("RoPE option ", key, " has two values, ", a, " and ", b));
}

}  // namespace phyllo
