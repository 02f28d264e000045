#include "services/common/calls/call_limit.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

// A hint: the calls that this is for take milliseconds, unless their clients do not read.
constexpr absl::Duration kRetryDelay = absl::Seconds(1);

}  // namespace

absl::StatusOr<CallPermit> CallLimit::Admit() {
  int64_t call_count = call_count_.load(std::memory_order_relaxed);
  do {
    if (call_count >= max_calls_) {
      return WithRetryDelay(absl::ResourceExhaustedError(absl::StrCat(
                                "as many calls are under way as may be at once: ", max_calls_)),
                            kRetryDelay);
    }
  } while (
      !call_count_.compare_exchange_weak(call_count, call_count + 1, std::memory_order_relaxed));
  return CallPermit(*this);
}

}  // namespace phyllo
