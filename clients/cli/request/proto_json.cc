#include "clients/cli/request/proto_json.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/json_util.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

// The shortest decimal number that reads back as the same float, so that 0.6f is 0.6; JSON has no
// infinities.
ordered_json FloatToJson(float value) {
  if (!std::isfinite(value))
    return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  double shortest = value;
  for (int digits = 6; digits <= 9; ++digits) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(value));
    if (absl::SimpleAtod(text, &shortest) && static_cast<float>(shortest) == value) break;
  }
  return shortest;
}

ordered_json DurationToJson(const Message& message) {
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text);
  ordered_json json = ordered_json::parse(text, nullptr, false);
  return status.ok() && !json.is_discarded() ? json : ordered_json();
}

// One value: of a singular field, or an element of a repeated one if `index` is at least 0.
ordered_json ValueToJson(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool element = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return element ? r.GetRepeatedInt32(message, field, index) : r.GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return element ? r.GetRepeatedInt64(message, field, index) : r.GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return element ? r.GetRepeatedUInt32(message, field, index) : r.GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return element ? r.GetRepeatedUInt64(message, field, index) : r.GetUInt64(message, field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return FloatToJson(element ? r.GetRepeatedFloat(message, field, index)
                                 : r.GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return element ? r.GetRepeatedDouble(message, field, index) : r.GetDouble(message, field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return element ? r.GetRepeatedBool(message, field, index) : r.GetBool(message, field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return (element ? r.GetRepeatedEnum(message, field, index) : r.GetEnum(message, field))
          ->name();
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          element ? r.GetRepeatedString(message, field, index) : r.GetString(message, field);
      return field->type() == FieldDescriptor::TYPE_BYTES ? absl::Base64Escape(text) : text;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(element ? r.GetRepeatedMessage(message, field, index)
                            : r.GetMessage(message, field));
  }
  return ordered_json();
}

ordered_json MapToJson(const Message& message, const FieldDescriptor* field) {
  ordered_json object = ordered_json::object();
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    const Message& entry = message.GetReflection()->GetRepeatedMessage(message, field, i);
    const ordered_json key = ValueToJson(entry, entry.GetDescriptor()->map_key(), -1);
    object[key.is_string() ? key.get<std::string>() : key.dump()] =
        ValueToJson(entry, entry.GetDescriptor()->map_value(), -1);
  }
  return object;
}

}  // namespace

ordered_json ToJson(const Message& message) {
  if (message.GetDescriptor()->full_name() == "google.protobuf.Duration")
    return DurationToJson(message);
  ordered_json object = ordered_json::object();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(i);
    if (field->is_map()) {
      object[field->name()] = MapToJson(message, field);
    } else if (field->is_repeated()) {
      ordered_json& array = object[field->name()] = ordered_json::array();
      for (int k = 0; k < reflection.FieldSize(message, field); ++k)
        array.push_back(ValueToJson(message, field, k));
    } else if (!field->has_presence() || reflection.HasField(message, field)) {
      object[field->name()] = ValueToJson(message, field, -1);
    }
  }
  return object;
}

std::string DumpJson(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json ErrorToJson(const absl::Status& status) {
  ordered_json error = {{"code", absl::StatusCodeToString(status.code())},
                        {"message", std::string(status.message())}};
  const std::optional<ErrorReason> reason = GetReason(status);
  if (reason.has_value()) error["reason"] = reason->reason;
  return {{"error", std::move(error)}};
}

absl::Status MergeFromJson(absl::string_view json, Message& message) {
  const std::unique_ptr<Message> parsed(message.New());
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), parsed.get());
  if (!status.ok())
    return absl::InvalidArgumentError(
        std::string(status.message().data(), status.message().size()));
  message.MergeFrom(*parsed);
  return absl::OkStatus();
}

}  // namespace phyllo
