#include "model/base/host_resources.h"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

// cgroup v2: Documentation/admin-guide/cgroup-v2.rst of Linux. v1:
// Documentation/admin-guide/cgroup-v1/memory.rst and Documentation/scheduler/sched-bwc.rst. A limit
// of any group on the path to the root holds, so the least counts.

namespace phyllo {
namespace {

constexpr absl::string_view kCgroupMount = "/sys/fs/cgroup";

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream.is_open()) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::optional<int64_t> ParseInteger(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &value))
    return std::nullopt;  // "max" and what overflows too
  return value;
}

std::optional<int64_t> ReadInteger(const std::string& path) {
  const std::optional<std::string> text = ReadFile(path);
  return text.has_value() ? ParseInteger(*text) : std::nullopt;
}

// The number after `key` on the line of `text` that begins with it, such as "inactive_file 4096".
std::optional<int64_t> FindValue(absl::string_view text, absl::string_view key) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() >= 2 && words[0] == key) return ParseInteger(words[1]);
  }
  return std::nullopt;
}

void TakeLeast(std::optional<double> candidate, std::optional<double>& least) {
  if (candidate.has_value() && (!least.has_value() || *candidate < *least)) least = candidate;
}

// The folders of a cgroup and all its ancestors, the leaf first. In a container without a cgroup
// namespace the path is the host's and is not below the mount: then the mount itself is the
// container's group.
std::vector<std::string> CgroupFolders(const std::string& mount, absl::string_view path) {
  std::vector<std::string> folders;
  std::string rest(path == "/" ? "" : path);
  struct stat info;
  if (rest.find("..") != std::string::npos || stat(absl::StrCat(mount, rest).c_str(), &info) != 0)
    rest.clear();
  while (!rest.empty()) {
    folders.push_back(absl::StrCat(mount, rest));
    rest.resize(rest.rfind('/') == std::string::npos ? 0 : rest.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

// Limits of one kind of cgroup, merged over the path.
struct CgroupLimits {
  std::optional<double> cpu_quota;
  std::optional<double> memory_bytes;
  std::optional<double> memory_room_bytes;  // limit minus what is used and cannot be reclaimed
};

void MergeMemory(std::optional<int64_t> limit, std::optional<int64_t> used,
                 std::optional<int64_t> reclaimable, CgroupLimits& limits) {
  if (!limit.has_value()) return;
  TakeLeast(static_cast<double>(*limit), limits.memory_bytes);
  if (!used.has_value()) return;
  const int64_t fixed = std::max<int64_t>(0, *used - reclaimable.value_or(0));
  TakeLeast(static_cast<double>(std::max<int64_t>(0, *limit - fixed)), limits.memory_room_bytes);
}

void MergeV2(const std::vector<std::string>& folders, CgroupLimits& limits) {
  for (const std::string& folder : folders) {
    if (const std::optional<std::string> cpu_max = ReadFile(absl::StrCat(folder, "/cpu.max"))) {
      const std::vector<absl::string_view> words =
          absl::StrSplit(*cpu_max, absl::ByAnyChar(" \n"), absl::SkipEmpty());
      const std::optional<int64_t> quota =
          words.size() == 2 ? ParseInteger(words[0]) : std::nullopt;
      const std::optional<int64_t> period =
          words.size() == 2 ? ParseInteger(words[1]) : std::nullopt;
      if (quota.value_or(0) > 0 && period.value_or(0) > 0) {
        TakeLeast(static_cast<double>(*quota) / static_cast<double>(*period), limits.cpu_quota);
      }
    }
    const std::optional<int64_t> used = ReadInteger(absl::StrCat(folder, "/memory.current"));
    const std::string stat = ReadFile(absl::StrCat(folder, "/memory.stat")).value_or("");
    for (const absl::string_view file : {"/memory.max", "/memory.high"}) {
      MergeMemory(ReadInteger(absl::StrCat(folder, file)), used, FindValue(stat, "inactive_file"),
                  limits);
    }
  }
}

void MergeV1Cpu(const std::vector<std::string>& folders, CgroupLimits& limits) {
  for (const std::string& folder : folders) {
    const int64_t quota = ReadInteger(absl::StrCat(folder, "/cpu.cfs_quota_us")).value_or(-1);
    const int64_t period = ReadInteger(absl::StrCat(folder, "/cpu.cfs_period_us")).value_or(0);
    if (quota > 0 && period > 0)
      TakeLeast(static_cast<double>(quota) / static_cast<double>(period), limits.cpu_quota);
  }
}

void MergeV1Memory(const std::vector<std::string>& folders, CgroupLimits& limits) {
  for (const std::string& folder : folders) {
    const std::string stat = ReadFile(absl::StrCat(folder, "/memory.stat")).value_or("");
    MergeMemory(ReadInteger(absl::StrCat(folder, "/memory.limit_in_bytes")),
                ReadInteger(absl::StrCat(folder, "/memory.usage_in_bytes")),
                FindValue(stat, "total_inactive_file"), limits);
  }
}

CgroupLimits ReadCgroups(const std::string& root) {
  CgroupLimits limits;
  const std::string mount = absl::StrCat(root, kCgroupMount);
  const std::string memberships = ReadFile(absl::StrCat(root, "/proc/self/cgroup")).value_or("");
  for (const absl::string_view line : absl::StrSplit(memberships, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) {  // v2, alone or beside v1 in "unified"
      MergeV2(CgroupFolders(mount, parts[2]), limits);
      MergeV2(CgroupFolders(absl::StrCat(mount, "/unified"), parts[2]), limits);
      continue;
    }
    for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      // Controllers mounted together have a folder of all their names, and usually a link of each.
      for (const absl::string_view folder : std::set<absl::string_view>{parts[1], controller}) {
        const std::vector<std::string> folders =
            CgroupFolders(absl::StrCat(mount, "/", folder), parts[2]);
        if (controller == "cpu") MergeV1Cpu(folders, limits);
        if (controller == "memory") MergeV1Memory(folders, limits);
      }
    }
  }
  return limits;
}

std::vector<int> PhysicalCores(const std::string& root, const std::vector<int>& cpus) {
  std::vector<int> cores;
  std::set<std::string> seen;
  for (const int cpu : cpus) {
    const std::string topology =
        absl::StrCat(root, "/sys/devices/system/cpu/cpu", cpu, "/topology/");
    std::optional<std::string> siblings = ReadFile(absl::StrCat(topology, "core_cpus_list"));
    if (!siblings.has_value()) siblings = ReadFile(absl::StrCat(topology, "thread_siblings_list"));
    if (seen.insert(siblings.value_or(absl::StrCat("cpu ", cpu))).second) cores.push_back(cpu);
  }
  return cores;
}

std::vector<int> Affinity() {
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (set == nullptr) break;
    const size_t size = CPU_ALLOC_SIZE(capacity);
    std::vector<int> cpus;
    const bool ok = sched_getaffinity(0, size, set) == 0;
    const bool too_small = !ok && errno == EINVAL;
    for (int cpu = 0; ok && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!too_small) return cpus;
  }
  return {};
}

}  // namespace

int HostResources::ThreadCount() const {
  const double cores = static_cast<double>(physical_core_cpus.size());
  return static_cast<int>(std::max(1.0, std::floor(std::min(cores, cpu_quota.value_or(cores)))));
}

double HostResources::CpuCount() const {
  const double count = static_cast<double>(cpus.size());
  return std::min(count, cpu_quota.value_or(count));
}

HostResources DetectHostResources() { return DetectHostResourcesAt("", Affinity()); }

HostResources DetectHostResourcesAt(const std::string& root, const std::vector<int>& affinity) {
  HostResources resources;
  resources.cpus = affinity.empty() ? std::vector<int>{0} : affinity;
  std::sort(resources.cpus.begin(), resources.cpus.end());
  resources.physical_core_cpus = PhysicalCores(root, resources.cpus);
  const CgroupLimits limits = ReadCgroups(root);
  resources.cpu_quota = limits.cpu_quota;
  const std::string meminfo = ReadFile(absl::StrCat(root, "/proc/meminfo")).value_or("");
  const auto bytes = [&meminfo](absl::string_view key, std::optional<double> limit) {
    std::optional<double> least = limit;
    if (const std::optional<int64_t> kilobytes = FindValue(meminfo, key))
      TakeLeast(1024.0 * static_cast<double>(*kilobytes), least);
    return static_cast<int64_t>(std::min(least.value_or(0.0), 9e18));
  };
  resources.memory_limit_bytes = bytes("MemTotal:", limits.memory_bytes);
  resources.available_memory_bytes = bytes("MemAvailable:", limits.memory_room_bytes);
  return resources;
}

absl::StatusOr<std::vector<int>> ParseCpuList(absl::string_view text) {
  constexpr int kLargest = 65535;
  std::set<int> cpus;
  const absl::string_view list = absl::StripAsciiWhitespace(text);
  if (list.empty()) return std::vector<int>();
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    const std::optional<int64_t> first = ParseInteger(ends.front());
    const std::optional<int64_t> last = ParseInteger(ends.back());
    if (!first.has_value() || !last.has_value() || *first < 0 || *last < *first ||
        *last > kLargest) {
      return absl::InvalidArgumentError(absl::StrCat(
          "CPU list \"", list, "\": \"", part, "\" is no CPU or range of CPUs up to ", kLargest));
    }
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.insert(static_cast<int>(cpu));
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

}  // namespace phyllo
