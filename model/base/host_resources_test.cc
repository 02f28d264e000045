#include "model/base/host_resources.h"

#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A copy of /proc and /sys that a test writes.
class HostResourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = absl::StrCat(::testing::TempDir(), "/",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    mkdir(root_.c_str(), 0700);
    Write("/proc/meminfo",
          "MemTotal:       16384 kB\nMemFree:  100 kB\nMemAvailable:    8192 kB\n");
  }

  void Write(const std::string& path, const std::string& text) {
    std::string folder = root_;
    const std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      absl::StrAppend(&folder, "/", parts[i]);
      mkdir(folder.c_str(), 0700);
    }
    std::ofstream(absl::StrCat(root_, path)) << text;
  }

  void WriteSiblings(int cpu, const std::string& siblings) {
    Write(absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"),
          siblings);
  }

  std::string root_;
};

TEST_F(HostResourcesTest, TakesMachineWithoutCgroups) {
  const HostResources resources = DetectHostResourcesAt(root_, {0, 1, 2, 3});
  EXPECT_THAT(resources.cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(resources.physical_core_cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(resources.cpu_quota, std::nullopt);
  EXPECT_EQ(resources.memory_limit_bytes, 16384 * 1024);
  EXPECT_EQ(resources.available_memory_bytes, 8192 * 1024);
  EXPECT_EQ(resources.ThreadCount(), 4);
}

TEST_F(HostResourcesTest, CountsSiblingsOnce) {
  for (const int cpu : {0, 1, 4, 5}) WriteSiblings(cpu, cpu % 4 == 0 ? "0,4\n" : "1,5\n");
  const HostResources resources = DetectHostResourcesAt(root_, {5, 4, 1});
  EXPECT_THAT(resources.cpus, ElementsAre(1, 4, 5));
  EXPECT_THAT(resources.physical_core_cpus, ElementsAre(1, 4));
  EXPECT_EQ(resources.ThreadCount(), 2);
}

TEST_F(HostResourcesTest, TakesLeastV2LimitOnPath) {
  Write("/proc/self/cgroup", "0::/pod/app\n");
  Write("/sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
  Write("/sys/fs/cgroup/pod/app/memory.max", "4194304\n");
  Write("/sys/fs/cgroup/pod/app/memory.current", "3145728\n");
  Write("/sys/fs/cgroup/pod/app/memory.stat", "anon 5\ninactive_file 1048576\n");
  Write("/sys/fs/cgroup/pod/memory.max", "max\n");
  const HostResources resources = DetectHostResourcesAt(root_, {0, 1, 2, 3});
  EXPECT_EQ(resources.cpu_quota, 2.5);
  EXPECT_EQ(resources.memory_limit_bytes, 4194304);
  EXPECT_EQ(resources.available_memory_bytes, 4194304 - 2097152);
  EXPECT_EQ(resources.ThreadCount(), 2);
}

TEST_F(HostResourcesTest, TakesMountWhenPathIsTheHosts) {
  Write("/proc/self/cgroup", "0::/kubepods/pod1/c1\n");
  Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  const HostResources resources = DetectHostResourcesAt(root_, {0, 1});
  EXPECT_EQ(resources.cpu_quota, 0.5);
  EXPECT_EQ(resources.ThreadCount(), 1);
}

TEST_F(HostResourcesTest, CountsLogicalCpusWithoutQuota) {
  HostResources resources;
  resources.cpus = {0, 1, 4, 5};
  EXPECT_EQ(resources.CpuCount(), 4.0);
}

TEST_F(HostResourcesTest, CountsNoMoreCpusThanTheQuota) {
  HostResources resources;
  resources.cpus = {0, 1, 4, 5};
  resources.cpu_quota = 0.5;
  EXPECT_EQ(resources.CpuCount(), 0.5);
}

TEST_F(HostResourcesTest, CountsNoMoreCpusThanThereAre) {
  HostResources resources;
  resources.cpus = {3};
  resources.cpu_quota = 2.5;
  EXPECT_EQ(resources.CpuCount(), 1.0);
}

TEST_F(HostResourcesTest, ReadsV1Controllers) {
  Write("/proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/a\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8388608\n");
  Write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "9388608\n");
  const HostResources resources = DetectHostResourcesAt(root_, {0, 1, 2, 3});
  EXPECT_EQ(resources.cpu_quota, 3.0);
  EXPECT_EQ(resources.memory_limit_bytes, 8388608);
  EXPECT_EQ(resources.available_memory_bytes, 0);
}

TEST_F(HostResourcesTest, IgnoresV1LimitBeyondMachine) {
  Write("/proc/self/cgroup", "4:memory:/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  const HostResources resources = DetectHostResourcesAt(root_, {0});
  EXPECT_EQ(resources.memory_limit_bytes, 16384 * 1024);
  EXPECT_EQ(resources.available_memory_bytes, 8192 * 1024);
}

TEST_F(HostResourcesTest, SurvivesNonsense) {
  Write("/proc/self/cgroup", "garbage\n0::\n::::\n0::/../..\n");
  Write("/proc/meminfo", "MemTotal: many kB\n");
  Write("/sys/fs/cgroup/cpu.max", "1 2 3\n");
  Write("/sys/fs/cgroup/memory.max", "-\n");
  const HostResources resources = DetectHostResourcesAt(root_, {});
  EXPECT_THAT(resources.cpus, ElementsAre(0));
  EXPECT_EQ(resources.cpu_quota, std::nullopt);
  EXPECT_EQ(resources.memory_limit_bytes, 0);
  EXPECT_EQ(resources.ThreadCount(), 1);
}

TEST(DetectHostResourcesTest, FindsThisMachine) {
  const HostResources resources = DetectHostResources();
  EXPECT_FALSE(resources.cpus.empty());
  EXPECT_FALSE(resources.physical_core_cpus.empty());
  EXPECT_LE(resources.physical_core_cpus.size(), resources.cpus.size());
  EXPECT_GT(resources.memory_limit_bytes, 0);
  EXPECT_GT(resources.available_memory_bytes, 0);
  EXPECT_LE(resources.available_memory_bytes, resources.memory_limit_bytes);
}

TEST(ParseCpuListTest, ReadsRangesAndSingles) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<int> cpus, ParseCpuList("8,0-3,10-11\n"));
  EXPECT_THAT(cpus, ElementsAre(0, 1, 2, 3, 8, 10, 11));
}

TEST(ParseCpuListTest, GivesNoneForBlank) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<int> cpus, ParseCpuList(" \n"));
  EXPECT_THAT(cpus, IsEmpty());
}

TEST(ParseCpuListTest, ReturnsInvalidArgumentForMalformedList) {
  for (const char* text : {"a", "3-1", "-1", "1,,2", "0-99999999999", "65536", "1-"}) {
    EXPECT_THAT(ParseCpuList(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no CPU")))
        << text;
  }
}

}  // namespace
}  // namespace phyllo
