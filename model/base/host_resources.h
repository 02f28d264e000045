// What of this machine the process may use: CPUs and memory, inside a container or not.
#ifndef PHYLLO_MODEL_BASE_HOST_RESOURCES_H_
#define PHYLLO_MODEL_BASE_HOST_RESOURCES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// A plain value.
struct HostResources {
  // Logical CPUs the process may run on: its affinity, which the cpuset of its cgroup bounds.
  // Ascending, never empty.
  std::vector<int> cpus;
  // One logical CPU of each physical core among `cpus`, the lowest. Ascending, never empty.
  std::vector<int> physical_core_cpus;
  // CPU time per time, in cores, that cgroups allow (the least along the path to the root): > 0;
  // absent = unlimited.
  std::optional<double> cpu_quota;
  // The least of the machine's memory and the limits of the cgroups. Bytes; 0 if unknown.
  int64_t memory_limit_bytes = 0;
  // What can be taken now without swapping: the machine's MemAvailable and the room below each
  // cgroup limit (reclaimable file pages count as room), the least of them. Bytes; 0 if unknown.
  int64_t available_memory_bytes = 0;

  // How many busy threads to run: as many as physical cores, but no more than the quota pays for;
  // at least 1.
  int ThreadCount() const;

  // CPU time per time that the process can get, in logical CPUs: all of `cpus`, but no more than
  // the quota; > 0.
  double CpuCount() const;
};

// Reads /proc and /sys (cgroup v2, v1 or none). Never fails: what cannot be read is left unlimited
// or 0.
HostResources DetectHostResources();

// The same from a copy of those trees below `root` (no trailing slash), for a process with that
// affinity.
HostResources DetectHostResourcesAt(const std::string& root, const std::vector<int>& affinity);

// Reads a list such as "0-3,8,10-11\n" into {0, 1, 2, 3, 8, 10, 11}; blank gives none.
// Errors: INVALID_ARGUMENT if it is malformed or a number is over 65535.
absl::StatusOr<std::vector<int>> ParseCpuList(absl::string_view text);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_HOST_RESOURCES_H_
