// The one place where absl::Status meets grpc::Status. Details travel as payloads of the
// absl::Status under their type URL and as google.rpc.Status in the gRPC trailer, so that any gRPC
// language can read them.
//
//   return ToGrpcStatus(InvalidField("sampling.top_p", "must be in (0, 1], is 1.5"));
#ifndef PHYLLO_SERVICES_COMMON_STATUS_BRIDGE_H_
#define PHYLLO_SERVICES_COMMON_STATUS_BRIDGE_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace phyllo {

// Code, message (cut at 2 KiB: it travels in an HTTP/2 header) and details.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

// What a program may branch on: an UPPER_SNAKE_CASE reason in the domain "phyllo", with the numbers
// of the message as metadata.
struct ErrorReason {
  std::string reason;
  std::map<std::string, std::string> metadata;
};

// A copy of `status`, which is not OK, with google.rpc.ErrorInfo.
absl::Status WithReason(absl::Status status, const ErrorReason& reason);
// A copy of `status`, which is not OK, with google.rpc.RetryInfo: the client may try again after
// `delay`.
absl::Status WithRetryDelay(absl::Status status, absl::Duration delay);
// INVALID_ARGUMENT "field: description" with google.rpc.BadRequest. `field` is the path in the
// request, for example "sampling.top_p".
absl::Status InvalidField(absl::string_view field, absl::string_view description);

std::optional<ErrorReason> GetReason(const absl::Status& status);
std::optional<absl::Duration> GetRetryDelay(const absl::Status& status);
// The first violated field, if there is one.
std::optional<std::string> GetInvalidField(const absl::Status& status);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_STATUS_BRIDGE_H_
