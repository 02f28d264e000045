// Messages as JSON, for --json.
#ifndef PHYLLO_CLIENTS_CLI_REQUEST_PROTO_JSON_H_
#define PHYLLO_CLIENTS_CLI_REQUEST_PROTO_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"

namespace phyllo {

// protobuf's JSON mapping with the names of the .proto file, but 64-bit integers are numbers. A
// field with presence is there if it is set; all others are always there. Bytes are base64, a
// Duration is "1.5s", an enum its name.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// One line; bytes that are not UTF-8 become U+FFFD.
std::string DumpJson(const nlohmann::ordered_json& json);

// {"error": {"code": "NOT_FOUND", "message": ..., "reason": ... if the server gave one}}.
nlohmann::ordered_json ErrorToJson(const absl::Status& status);

// Reads protobuf's JSON into `message`, over what is there. INVALID_ARGUMENT that says what is
// wrong: no JSON, an unknown name, a wrong type.
absl::Status MergeFromJson(absl::string_view json, google::protobuf::Message& message);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_REQUEST_PROTO_JSON_H_
