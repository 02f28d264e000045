#include "model/packed_cache/file_replacement.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/packed_cache/testing/model_folder.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class FileReplacementTest : public ::testing::Test {
 protected:
  const std::string folder_ = NewTestFolder("out");
  const std::string path_ = folder_ + "/file";
};

TEST_F(FileReplacementTest, ReplacesTheFileOnCommitOnly) {
  WriteAll(path_, "old");
  PHYLLO_ASSERT_OK_AND_ASSIGN(FileReplacement file, FileReplacement::Begin(path_, 3));
  PHYLLO_ASSERT_OK(file.Write(Bytes("new"), 0));
  EXPECT_EQ(ReadAll(path_), "old");
  PHYLLO_ASSERT_OK(file.Commit());
  EXPECT_EQ(ReadAll(path_), "new");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".tmp"));
}

TEST_F(FileReplacementTest, LeavesNothingWhenGivenUp) {
  {
    PHYLLO_ASSERT_OK_AND_ASSIGN(FileReplacement file, FileReplacement::Begin(path_, 3));
    PHYLLO_ASSERT_OK(file.Write(Bytes("new"), 0));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(FileReplacementTest, MakesTheFolder) {
  const std::string path = folder_ + "/a/b/file";
  PHYLLO_ASSERT_OK_AND_ASSIGN(FileReplacement file, FileReplacement::Begin(path, 1));
  PHYLLO_ASSERT_OK(file.Commit());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(FileReplacementTest, ASecondWriterIsRefusedUntilTheFirstIsDone) {
  std::optional<FileReplacement> first;
  {
    PHYLLO_ASSERT_OK_AND_ASSIGN(FileReplacement file, FileReplacement::Begin(path_, 1));
    first.emplace(std::move(file));
  }
  EXPECT_THAT(FileReplacement::Begin(path_, 1), StatusIs(absl::StatusCode::kUnavailable));
  PHYLLO_ASSERT_OK(first->Write(Bytes("1"), 0));
  PHYLLO_ASSERT_OK(first->Commit());
  PHYLLO_ASSERT_OK_AND_ASSIGN(FileReplacement second, FileReplacement::Begin(path_, 1));
  EXPECT_EQ(ReadAll(path_), "1") << "a new writer does not touch the file in place";
}

TEST_F(FileReplacementTest, TakesOverWhatAKilledWriterLeft) {
  WriteAll(path_ + ".tmp", "half of something longer");
  PHYLLO_ASSERT_OK_AND_ASSIGN(FileReplacement file, FileReplacement::Begin(path_, 3));
  PHYLLO_ASSERT_OK(file.Write(Bytes("new"), 0));
  PHYLLO_ASSERT_OK(file.Commit());
  EXPECT_EQ(ReadAll(path_), "new");
}

TEST_F(FileReplacementTest, DoesNotFollowASymbolicLink) {
  WriteAll(folder_ + "/victim", "precious");
  std::filesystem::create_symlink(folder_ + "/victim", path_ + ".tmp");
  EXPECT_FALSE(FileReplacement::Begin(path_, 1).ok());
  EXPECT_EQ(ReadAll(folder_ + "/victim"), "precious");
}

TEST_F(FileReplacementTest, RefusesWhatTheDiskHasNoRoomFor) {
  EXPECT_THAT(FileReplacement::Begin(path_, int64_t{1} << 60),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1152921504606846976")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(FileReplacementTest, ReturnsAnErrorWhereNoFolderCanBe) {
  WriteAll(path_, "a file, not a folder");
  EXPECT_THAT(FileReplacement::Begin(path_ + "/file", 1).status().message(), HasSubstr(path_));
  EXPECT_FALSE(FileReplacement::Begin("/proc/phyllo/file", 1).ok());
}

}  // namespace
}  // namespace phyllo
