#include "model/tokenizer/text/json_fields.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

absl::Status WrongType(const char* key, absl::string_view expected, const nlohmann::json& value) {
  return absl::InvalidArgumentError(
      absl::StrCat("field \"", key, "\" must be ", expected, ", is ", value.type_name()));
}

}  // namespace

const nlohmann::json* FindField(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

absl::StatusOr<std::string> StringField(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = FindField(object, key);
  if (value == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("field \"", key, "\" is missing"));
  return StringFieldOr(object, key, "");
}

absl::StatusOr<std::string> StringFieldOr(const nlohmann::json& object, const char* key,
                                          absl::string_view fallback) {
  const nlohmann::json* value = FindField(object, key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) return WrongType(key, "a string", *value);
  return value->get_ref<const std::string&>();
}

absl::StatusOr<bool> BoolFieldOr(const nlohmann::json& object, const char* key, bool fallback) {
  const nlohmann::json* value = FindField(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return WrongType(key, "true or false", *value);
  return value->get<bool>();
}

absl::StatusOr<int64_t> IntegerFieldOr(const nlohmann::json& object, const char* key,
                                       int64_t fallback) {
  const nlohmann::json* value = FindField(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_number_integer()) return WrongType(key, "an integer", *value);
  return value->get<int64_t>();
}

absl::StatusOr<std::string> ComponentType(const nlohmann::json& component) {
  if (!component.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a component must be an object, is ", component.type_name()));
  }
  return StringField(component, "type");
}

absl::Status UnknownComponent(absl::string_view kind, absl::string_view type) {
  return absl::UnimplementedError(
      absl::StrCat("tokenizer.json: ", kind, " of type \"", type, "\" is not supported"));
}

}  // namespace phyllo
