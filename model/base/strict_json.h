// JSON text from outside, parsed so that nothing in it can surprise: no duplicate keys, no deep
// nesting, no exceptions.
#ifndef PHYLLO_MODEL_BASE_STRICT_JSON_H_
#define PHYLLO_MODEL_BASE_STRICT_JSON_H_

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// Objects and arrays may nest this deep, the outermost counted.
inline constexpr int kMaxJsonDepth = 64;

// Parses `text`, whose outermost value must be an object. `what` names it in messages, such as
// "config.json". Errors: INVALID_ARGUMENT: not JSON (RFC 8259: no NaN, no number beyond double,
// valid UTF-8), not an object, nested deeper than kMaxJsonDepth, a key twice in one object.
absl::StatusOr<nlohmann::json> ParseJsonObject(absl::string_view text, absl::string_view what);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_STRICT_JSON_H_
