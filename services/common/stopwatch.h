// Intervals on the monotonic clock.
#ifndef PHYLLO_SERVICES_COMMON_STOPWATCH_H_
#define PHYLLO_SERVICES_COMMON_STOPWATCH_H_

#include <chrono>

#include "absl/time/time.h"

namespace phyllo {

// Runs from its construction. Immutable, thread-safe.
class Stopwatch {
 public:
  absl::Duration Elapsed() const {
    return absl::FromChrono(std::chrono::steady_clock::now() - start_);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_STOPWATCH_H_
