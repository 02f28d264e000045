#include "model/config/reader/config_reader.h"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace phyllo {
namespace {

using Json = nlohmann::json;

// The value for a message, cut short.
std::string Show(const Json& value) {
  constexpr size_t kLongest = 60;
  if (value.is_structured()) return absl::StrCat("an ", value.type_name(), " of ", value.size());
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = absl::StrCat(text.substr(0, kLongest), "...");
  return text;
}

}  // namespace

ConfigReader::ConfigReader(const Json& object, absl::string_view where, absl::Status* status)
    : object_(&object), where_(where), status_(status) {}

const Json* ConfigReader::Find(absl::string_view key) const {
  std::string name(key);
  const auto it = object_->find(name);
  read_.insert(std::move(name));
  if (!status_->ok()) return nullptr;
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

bool ConfigReader::Has(absl::string_view key) const { return Find(key) != nullptr; }

bool ConfigReader::WasRead(absl::string_view key) const { return read_.find(key) != read_.end(); }

void ConfigReader::FailInvalid(absl::string_view message) {
  if (status_->ok()) *status_ = absl::InvalidArgumentError(absl::StrCat(where_, ": ", message));
}

void ConfigReader::FailUnsupported(absl::string_view message) {
  if (status_->ok()) *status_ = absl::UnimplementedError(absl::StrCat(where_, ": ", message));
}

void ConfigReader::FailType(absl::string_view key, absl::string_view wanted, const Json& value) {
  FailInvalid(absl::StrCat(key, " must be ", wanted, ", is ", Show(value)));
}

int64_t ConfigReader::CheckedInteger(absl::string_view key, const Json& value, int64_t min,
                                     int64_t max) {
  if (!value.is_number_integer()) {
    FailType(key, "an integer", value);
    return min;
  }
  const bool too_large =
      value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (too_large || value.get<int64_t>() < min || value.get<int64_t>() > max) {
    FailInvalid(absl::StrCat(key, " must be in ", min, " .. ", max, ", is ", Show(value)));
    return min;
  }
  return value.get<int64_t>();
}

std::optional<int64_t> ConfigReader::OptionalInteger(absl::string_view key, int64_t min,
                                                     int64_t max) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  return CheckedInteger(key, *value, min, max);
}

std::optional<double> ConfigReader::OptionalNumber(absl::string_view key, double min, double max) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    FailType(key, "a number", *value);
    return std::nullopt;
  }
  const double number = value->get<double>();
  if (!(number >= min && number <= max)) {
    FailInvalid(absl::StrCat(key, " must be in ", min, " .. ", max, ", is ", Show(*value)));
    return std::nullopt;
  }
  return number;
}

std::optional<bool> ConfigReader::OptionalBool(absl::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    FailType(key, "true or false", *value);
    return std::nullopt;
  }
  return value->get<bool>();
}

std::optional<std::string> ConfigReader::OptionalString(absl::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    FailType(key, "a string", *value);
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::optional<ConfigReader> ConfigReader::OptionalObject(absl::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    FailType(key, "an object", *value);
    return std::nullopt;
  }
  return ConfigReader(*value, absl::StrCat(where_, ": ", key), status_);
}

std::vector<int64_t> ConfigReader::IntegerList(absl::string_view key, int64_t min, int64_t max) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) return {CheckedInteger(key, *value, min, max)};
  std::vector<int64_t> list;
  list.reserve(value->size());
  for (const Json& element : *value) list.push_back(CheckedInteger(key, element, min, max));
  return list;
}

std::vector<std::string> ConfigReader::StringList(absl::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) {
    FailType(key, "a list of strings", *value);
    return {};
  }
  std::vector<std::string> list;
  for (const Json& element : *value) {
    if (!element.is_string()) {
      FailType(key, "a list of strings", element);
      return {};
    }
    list.push_back(element.get<std::string>());
  }
  return list;
}

int64_t ReadInteger(ConfigReader& reader, absl::string_view key, int64_t min, int64_t max) {
  const std::optional<int64_t> value = reader.OptionalInteger(key, min, max);
  if (!value.has_value()) reader.FailInvalid(absl::StrCat(key, " is missing"));
  return value.value_or(min);
}

double ReadNumber(ConfigReader& reader, absl::string_view key, double min, double max,
                  double absent) {
  return reader.OptionalNumber(key, min, max).value_or(absent);
}

bool ReadBool(ConfigReader& reader, absl::string_view key, bool absent) {
  return reader.OptionalBool(key).value_or(absent);
}

bool IsNull(const ConfigReader& reader, absl::string_view key) {
  const auto it = reader.json().find(std::string(key));
  return it != reader.json().end() && it->is_null();
}

}  // namespace phyllo
