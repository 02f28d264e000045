#include "model/checkpoint/gguf_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/testing/gguf_bytes.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A new folder for each test.
class GgufFilesTest : public testing::Test {
 protected:
  GgufFilesTest()
      : folder_(testing::TempDir() + "/" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }

  std::string Write(absl::string_view name, const std::string& contents) {
    const std::string path = folder_ + "/" + std::string(name);
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  // A part of a model in three, with one tensor.
  std::string WritePart(absl::string_view name, absl::string_view tensor, uint32_t count = 3) {
    return Write(name, GgufBytes().Uint32("split.count", count).Zeros(tensor, {8}).Finish());
  }

  const std::string folder_;
};

TEST_F(GgufFilesTest, FindsFileItself) {
  const std::string path = Write("m.gguf", GgufBytes().Finish());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto files, FindGgufFiles(path));
  EXPECT_THAT(files, ElementsAre(path));
}

TEST_F(GgufFilesTest, FindsTheOneOfAFolder) {
  const std::string path = Write("m.gguf", GgufBytes().Finish());
  Write("README.md", "");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto files, FindGgufFiles(folder_));
  EXPECT_THAT(files, ElementsAre(path));
}

TEST_F(GgufFilesTest, SeveralInAFolderAreAnError) {
  Write("a.gguf", GgufBytes().Finish());
  Write("b.gguf", GgufBytes().Finish());
  EXPECT_THAT(FindGgufFiles(folder_), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("2 GGUF models, name one of them")));
}

TEST_F(GgufFilesTest, FolderOfTransformersIsNone) {
  Write("m.gguf", GgufBytes().Finish());
  Write("config.json", "{}");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto files, FindGgufFiles(folder_));
  EXPECT_THAT(files, IsEmpty());
}

TEST_F(GgufFilesTest, OtherFileIsAnError) {
  const std::string path = Write("m.gguf", "GGML");
  EXPECT_THAT(FindGgufFiles(path), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("m.gguf is neither a model folder nor")));
}

TEST_F(GgufFilesTest, CheckpointJoinsPartsWhicheverIsNamed) {
  WritePart("m-00001-of-00003.gguf", "a");
  const std::string second = WritePart("m-00002-of-00003.gguf", "b");
  WritePart("m-00003-of-00003.gguf", "c");
  for (const std::string& path : {second, folder_}) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(path));
    EXPECT_NE(checkpoint->Find("a"), nullptr);
    EXPECT_NE(checkpoint->Find("c"), nullptr);
    EXPECT_EQ(checkpoint->shards().size(), 3u);
    ASSERT_NE(checkpoint->gguf(), nullptr);
  }
}

TEST_F(GgufFilesTest, MissingPartIsNamed) {
  const std::string path = WritePart("m-00001-of-00003.gguf", "a");
  WritePart("m-00003-of-00003.gguf", "c");
  EXPECT_THAT(FindGgufFiles(path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("m-00002-of-00003.gguf is missing")));
}

TEST_F(GgufFilesTest, PartUnderAnotherNameIsAnError) {
  const std::string path = WritePart("m.gguf", "a");
  EXPECT_THAT(Checkpoint::Open(path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("split.count is 3, but 1 files belong to its name")));
}

TEST_F(GgufFilesTest, TensorInTwoPartsIsAnError) {
  WritePart("m-00001-of-00002.gguf", "a", 2);
  WritePart("m-00002-of-00002.gguf", "a", 2);
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tensor \"a\" is in")));
}

}  // namespace
}  // namespace phyllo
