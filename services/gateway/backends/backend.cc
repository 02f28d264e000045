#include "services/gateway/backends/backend.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_bridge.h"

namespace phyllo {

absl::string_view BackendKindName(BackendKind kind) {
  switch (kind) {
    case BackendKind::kTokenizer:
      return "tokenizer";
    case BackendKind::kEmbedding:
      return "embedding";
    case BackendKind::kTransformer:
      return "transformer";
  }
  return "unknown";
}

const common::v1::ServerInfo& BackendState::server() const {
  switch (kind) {
    case BackendKind::kTokenizer:
      return tokenizer.server();
    case BackendKind::kEmbedding:
      return embedding.server();
    case BackendKind::kTransformer:
      break;
  }
  return transformer.server();
}

absl::Status ServiceUnavailable(BackendKind kind) {
  const std::string service(BackendKindName(kind));
  return WithReason(
      absl::UnavailableError(absl::StrCat("the ", service, " service is unavailable")),
      {"SERVICE_UNAVAILABLE", {{"service", service}}});
}

absl::Status BackendCallStatus(BackendKind kind, const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return status;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
      return ServiceUnavailable(kind);
    default:
      break;
  }
  absl::Status named(status.code(), absl::StrCat(BackendKindName(kind), ": ", status.message()));
  status.ForEachPayload([&named](absl::string_view type_url, const absl::Cord& payload) {
    named.SetPayload(type_url, payload);
  });
  return named;
}

}  // namespace phyllo
