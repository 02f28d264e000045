#include "model/checkpoint/memory_mapped_file.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

// Kilobytes of files that this process has in its memory, those of a file system in memory too.
int64_t FileKilobytes() {
  std::ifstream status("/proc/self/status");
  int64_t sum = 0;
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if ((word == "RssFile:" || word == "RssShmem:") && status >> kilobytes) sum += kilobytes;
  }
  return sum;
}

class MemoryMappedFileTest : public ::testing::Test {
 protected:
  static constexpr int64_t kBytes = 32 << 20;

  void SetUp() override {
    path_ = absl::StrCat(::testing::TempDir(), "/memory_mapped_file_test");
    std::ofstream(path_, std::ios::binary) << std::string(kBytes, 'x');
    PHYLLO_ASSERT_OK_AND_ASSIGN(MemoryMappedFile file, MemoryMappedFile::Open(path_));
    file_ = std::move(file);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  bool IsWhole() const {
    return std::all_of(file_->data().begin(), file_->data().end(),
                       [](uint8_t byte) { return byte == 'x'; });
  }

  std::string path_;
  std::optional<MemoryMappedFile> file_;
};

TEST_F(MemoryMappedFileTest, DroppedPagesLeaveTheMemoryOfTheProcess) {
  ASSERT_TRUE(IsWhole());
  const int64_t before = FileKilobytes();
  MemoryMappedFile::DropPages(file_->data());
  EXPECT_LE(FileKilobytes(), before - kBytes / 1024 / 2);
}

TEST_F(MemoryMappedFileTest, DroppedPagesComeBackWhenTheyAreRead) {
  MemoryMappedFile::DropPages(file_->data().subspan(1, kBytes - 2));
  EXPECT_TRUE(IsWhole());
}

TEST_F(MemoryMappedFileTest, DroppingLessThanAPageDoesNothing) {
  MemoryMappedFile::DropPages(file_->data().subspan(1, 100));
  MemoryMappedFile::DropPages({});
  EXPECT_TRUE(IsWhole());
}

}  // namespace
}  // namespace phyllo
