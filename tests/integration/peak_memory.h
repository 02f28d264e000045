#ifndef PHYLLO_TESTS_INTEGRATION_PEAK_MEMORY_H_
#define PHYLLO_TESTS_INTEGRATION_PEAK_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace phyllo {

// The most bytes of a process that were ever resident, mapped files included; 0 if it is gone.
inline int64_t PeakMemory(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    int64_t kilobytes = 0;
    if (absl::ConsumePrefix(&rest, "VmHWM:") && absl::ConsumeSuffix(&rest, "kB") &&
        absl::SimpleAtoi(rest, &kilobytes))
      return kilobytes * 1024;
  }
  return 0;
}

}  // namespace phyllo

#endif  // PHYLLO_TESTS_INTEGRATION_PEAK_MEMORY_H_
