#include "model/packed_cache/weights_digest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/packed_cache/testing/model_folder.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

class WeightsDigestTest : public ::testing::Test {
 protected:
  void SetUp() override { Rewrite('a'); }

  // Writes the weights and waits until the kernel's clock has moved on, as it has for any model
  // that was not copied in this very moment.
  void Rewrite(char value) {
    WriteWeights(model_, 1000, value);
    struct stat written;
    ASSERT_EQ(stat(weights_.c_str(), &written), 0);
    timespec now;
    do clock_gettime(CLOCK_REALTIME, &now);
    while (Milliseconds(now) < Milliseconds(written.st_ctim) + 25);
  }

  static int64_t Milliseconds(const timespec& time) {
    return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  }

  WeightsDigest Find(bool verify = false) {
    const auto checkpoint = Checkpoint::Open(model_);
    EXPECT_THAT(checkpoint, IsOk());
    absl::StatusOr<WeightsDigest> digest = FindWeightsDigest(
        **checkpoint, {.folder = {.path = cache_, .stem = "model.safetensors"}, .verify = verify});
    EXPECT_THAT(digest, IsOk());
    return digest.ok() ? *std::move(digest) : WeightsDigest();
  }

  std::string Computed() {
    const auto checkpoint = Checkpoint::Open(model_);
    return ComputeWeightsDigest(**checkpoint).value();
  }

  const std::string model_ = NewTestFolder("model");
  const std::string weights_ = model_ + "/model.safetensors";
  const std::string cache_ = NewTestFolder("cache");
  const std::string file_ = cache_ + "/model.safetensors.digest";
};

TEST_F(WeightsDigestTest, IsComputedOnceAndThenKnown) {
  const WeightsDigest first = Find();
  EXPECT_FALSE(first.from_file);
  EXPECT_EQ(first.sha256, Computed());
  const WeightsDigest second = Find();
  EXPECT_TRUE(second.from_file);
  EXPECT_EQ(second.sha256, first.sha256);
}

TEST_F(WeightsDigestTest, IsComputedAgainForAnotherFileOfTheSameSize) {
  const std::string before = Find().sha256;
  Rewrite('b');
  const WeightsDigest after = Find();
  EXPECT_FALSE(after.from_file);
  EXPECT_NE(after.sha256, before);
  EXPECT_EQ(after.sha256, Computed());
  EXPECT_TRUE(Find().from_file) << "the file is of the new weights now";
}

TEST_F(WeightsDigestTest, IsComputedAgainWhenMtimeWasSetBack) {
  struct stat before;
  ASSERT_EQ(stat(weights_.c_str(), &before), 0);
  Find();
  Rewrite('b');
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, weights_.c_str(), times, 0), 0);
  const WeightsDigest after = Find();
  EXPECT_FALSE(after.from_file);
  EXPECT_EQ(after.sha256, Computed());
}

TEST_F(WeightsDigestTest, VerifyComputesItAnyway) {
  Find();
  EXPECT_FALSE(Find(/*verify=*/true).from_file);
}

TEST_F(WeightsDigestTest, AChangedByteOfTheFileIsNoticed) {
  const std::string expected = Find().sha256;
  const std::string good = ReadAll(file_);
  for (size_t i = 0; i < good.size(); i += 5) {
    std::string bad = good;
    bad[i] = bad[i] == '1' ? '2' : '1';
    WriteAll(file_, bad);
    const WeightsDigest digest = Find();  // writes the file anew
    EXPECT_FALSE(digest.from_file) << "byte " << i;
    EXPECT_EQ(digest.sha256, expected) << "byte " << i;
  }
}

TEST_F(WeightsDigestTest, ATruncatedFileIsWrittenAnew) {
  Find();
  const std::string good = ReadAll(file_);
  for (const size_t size : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 1}) {
    WriteAll(file_, good.substr(0, size));
    EXPECT_FALSE(Find().from_file) << size;
    EXPECT_EQ(ReadAll(file_), good) << size;
  }
}

TEST_F(WeightsDigestTest, AFileOfAnotherVersionCountsAsAbsent) {
  Find();
  WriteAll(file_, absl::StrReplaceAll(ReadAll(file_), {{"-digest 1\n", "-digest 2\n"}}));
  EXPECT_FALSE(Find().from_file);
}

TEST_F(WeightsDigestTest, APipeInThePlaceOfTheFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(Find().sha256, Computed());
  EXPECT_TRUE(Find().from_file) << "a file has taken its place";
}

TEST_F(WeightsDigestTest, IsComputedWhereNothingCanBeWritten) {
  std::filesystem::remove_all(cache_);
  WriteAll(cache_, "a file where the folder should be");
  const WeightsDigest digest = Find();
  EXPECT_EQ(digest.sha256, Computed());
  EXPECT_THAT(digest.file_status.message(), HasSubstr(cache_));
}

TEST_F(WeightsDigestTest, WritesNothingWithoutAFolder) {
  const auto checkpoint = Checkpoint::Open(model_);
  PHYLLO_ASSERT_OK(checkpoint);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const WeightsDigest digest, FindWeightsDigest(**checkpoint, {}));
  EXPECT_EQ(digest.sha256, Computed());
  EXPECT_TRUE(std::filesystem::is_empty(cache_));
}

TEST_F(WeightsDigestTest, IsNotKeptWhenTheFileChangesWhileItIsRead) {
  const auto checkpoint = Checkpoint::Open(model_);
  PHYLLO_ASSERT_OK(checkpoint);
  const auto change = [&](int64_t, int64_t) {
    std::filesystem::last_write_time(weights_, std::filesystem::file_time_type());
  };
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const WeightsDigest digest,
      FindWeightsDigest(**checkpoint, {.folder = {.path = cache_, .stem = "model.safetensors"},
                                       .progress = change}));
  EXPECT_THAT(digest.file_status, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace phyllo
