#include "services/common/status_bridge.h"

#include <cstdint>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "services/common/durations.h"

namespace phyllo {
namespace {

constexpr char kDomain[] = "phyllo";
constexpr char kTypePrefix[] = "type.googleapis.com/";
constexpr size_t kMaxMessageLength = 2048;

template <typename Message>
std::string TypeUrl() {
  return absl::StrCat(kTypePrefix, Message::descriptor()->full_name());
}

template <typename Message>
void SetDetail(absl::Status& status, const Message& message) {
  status.SetPayload(TypeUrl<Message>(), absl::Cord(message.SerializeAsString()));
}

template <typename Message>
std::optional<Message> GetDetail(const absl::Status& status) {
  const auto payload = status.GetPayload(TypeUrl<Message>());
  Message message;
  if (!payload.has_value() || !message.ParseFromString(std::string(*payload))) return std::nullopt;
  return message;
}

// Cuts before a UTF-8 continuation byte only if that keeps the character whole.
absl::string_view CutMessage(absl::string_view message) {
  if (message.size() <= kMaxMessageLength) return message;
  size_t length = kMaxMessageLength;
  while (length > 0 && (static_cast<uint8_t>(message[length]) & 0xC0) == 0x80) --length;
  return message.substr(0, length);
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message(CutMessage(status.message()));
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(message);
  status.ForEachPayload([&details](absl::string_view type_url, const absl::Cord& payload) {
    google::protobuf::Any& any = *details.add_details();
    any.set_type_url(std::string(type_url));
    any.set_value(std::string(payload));
  });
  const std::string serialized =
      details.details().empty() ? std::string() : details.SerializeAsString();
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message, serialized);
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status details;
  // A peer that sends no details, or others than ours, still has its code and message.
  if (!details.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& any : details.details())
    result.SetPayload(any.type_url(), absl::Cord(any.value()));
  return result;
}

absl::Status WithReason(absl::Status status, const ErrorReason& reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason.reason);
  info.set_domain(kDomain);
  for (const auto& [key, value] : reason.metadata) (*info.mutable_metadata())[key] = value;
  SetDetail(status, info);
  return status;
}

absl::Status WithRetryDelay(absl::Status status, absl::Duration delay) {
  google::rpc::RetryInfo info;
  *info.mutable_retry_delay() = ToProtoDuration(delay);
  SetDetail(status, info);
  return status;
}

absl::Status InvalidField(absl::string_view field, absl::string_view description) {
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(field, ": ", description));
  google::rpc::BadRequest bad_request;
  google::rpc::BadRequest::FieldViolation& violation = *bad_request.add_field_violations();
  violation.set_field(std::string(field));
  violation.set_description(std::string(description));
  SetDetail(status, bad_request);
  return status;
}

std::optional<ErrorReason> GetReason(const absl::Status& status) {
  const auto info = GetDetail<google::rpc::ErrorInfo>(status);
  if (!info.has_value() || info->domain() != kDomain) return std::nullopt;
  return ErrorReason{info->reason(), {info->metadata().begin(), info->metadata().end()}};
}

std::optional<absl::Duration> GetRetryDelay(const absl::Status& status) {
  const auto info = GetDetail<google::rpc::RetryInfo>(status);
  if (!info.has_value()) return std::nullopt;
  return FromProtoDuration(info->retry_delay());
}

std::optional<std::string> GetInvalidField(const absl::Status& status) {
  const auto bad_request = GetDetail<google::rpc::BadRequest>(status);
  if (!bad_request.has_value() || bad_request->field_violations().empty()) return std::nullopt;
  return bad_request->field_violations(0).field();
}

}  // namespace phyllo
