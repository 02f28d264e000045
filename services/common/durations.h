// absl::Duration and google.protobuf.Duration.
#ifndef PHYLLO_SERVICES_COMMON_DURATIONS_H_
#define PHYLLO_SERVICES_COMMON_DURATIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace phyllo {

inline google::protobuf::Duration ToProtoDuration(absl::Duration duration) {
  google::protobuf::Duration result;
  absl::Duration rest;
  result.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  result.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return result;
}

inline absl::Duration FromProtoDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_DURATIONS_H_
