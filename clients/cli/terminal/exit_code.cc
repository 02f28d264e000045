#include "clients/cli/terminal/exit_code.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/status_bridge.h"

namespace phyllo {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnavailable;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitError;
  }
}

ExitCode ExitCodeOfStart(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
      return kExitModel;
    default:
      return ExitCodeOf(status);
  }
}

std::string DescribeError(const absl::Status& status) {
  std::string text = absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
  const std::optional<absl::Duration> delay = GetRetryDelay(status);
  if (delay.has_value())
    absl::StrAppend(&text, " (try again in ", absl::FormatDuration(*delay), ")");
  return text;
}

}  // namespace phyllo
