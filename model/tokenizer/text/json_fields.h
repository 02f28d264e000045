// Typed access to the fields of a JSON object that comes from outside: a wrong type is an error
// that names the field.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_JSON_FIELDS_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_JSON_FIELDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// The field `key` of `object`; null if `object` is no object, has no such field, or the field is
// null.
const nlohmann::json* FindField(const nlohmann::json& object, const char* key);

// The string `key`. Errors: INVALID_ARGUMENT if absent or of another type.
absl::StatusOr<std::string> StringField(const nlohmann::json& object, const char* key);

// The field `key`, or `fallback` if absent or null. Errors: INVALID_ARGUMENT if of another type.
absl::StatusOr<std::string> StringFieldOr(const nlohmann::json& object, const char* key,
                                          absl::string_view fallback);
absl::StatusOr<bool> BoolFieldOr(const nlohmann::json& object, const char* key, bool fallback);
absl::StatusOr<int64_t> IntegerFieldOr(const nlohmann::json& object, const char* key,
                                       int64_t fallback);

// The field "type" of a component.
absl::StatusOr<std::string> ComponentType(const nlohmann::json& component);

// UNIMPLEMENTED, naming the kind of component ("normalizer") and its type.
absl::Status UnknownComponent(absl::string_view kind, absl::string_view type);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_JSON_FIELDS_H_
