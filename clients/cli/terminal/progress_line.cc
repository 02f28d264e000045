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
            absl::StrCat(ServiceName(kind), " ", FormatByteCount(progress.resident_bytes[i])));
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
