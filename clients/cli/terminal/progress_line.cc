#include "clients/cli/terminal/progress_line.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "clients/cli/terminal/byte_count.h"

namespace phyllo {
namespace {

// To the beginning of the line, and erase it.
constexpr absl::string_view kEraseLine = "\r\033[K";

std::string DescribeLoading(absl::string_view service, const LoadActivity& activity,
                            int64_t resident_bytes) {
  if (activity.name.empty() || activity.total_bytes == 0)
    return absl::StrCat(service, " ", FormatByteCount(resident_bytes));
  return absl::StrFormat("%s %s %d %% of %s", service, activity.name,
                         activity.done_bytes * 100 / activity.total_bytes,
                         FormatByteCount(activity.total_bytes));
}

}  // namespace

void ProgressLine::Show(absl::string_view text) {
  if (stream_ == nullptr) return;
  *stream_ << kEraseLine << text << std::flush;
  shown_ = true;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  *stream_ << kEraseLine << std::flush;
  shown_ = false;
}

std::string DescribeLaunch(absl::string_view model, const LaunchProgress& progress) {
  std::vector<std::string> parts;
  for (const ServiceKind kind : kAllServiceKinds) {
    const int i = static_cast<int>(kind);
    switch (progress.states[i]) {
      case LaunchState::kNotStarted:
        parts.push_back(absl::StrCat(ServiceName(kind), " waits"));
        break;
      case LaunchState::kLoading:
        parts.push_back(
            DescribeLoading(ServiceName(kind), progress.activities[i], progress.resident_bytes[i]));
        break;
      case LaunchState::kServing:
        parts.push_back(absl::StrCat(ServiceName(kind), " ready"));
        break;
    }
  }
  return absl::StrFormat("starting %s: %s (%.1f s)", model, absl::StrJoin(parts, ", "),
                         absl::ToDoubleSeconds(progress.elapsed));
}

std::string DescribePrefill(const gateway::v1::PrefillProgress& progress) {
  const int64_t total = progress.total_token_count();
  return absl::StrFormat("reading the prompt: %d of %d tokens (%d %%)", progress.done_token_count(),
                         total, total > 0 ? progress.done_token_count() * 100 / total : 0);
}

}  // namespace phyllo
