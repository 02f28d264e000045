#include "model/packed_cache/cache_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/packed_cache/testing/model_folder.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CacheFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", user_cache_.c_str(), 1);
    WriteEmptyWeights(small_, 100);
    WriteEmptyWeights(large_, kMinCachedModelBytes);
  }

  CacheFolder Find(const std::string& choice, const std::string& model) {
    const auto checkpoint = Checkpoint::Open(model);
    EXPECT_THAT(checkpoint, IsOk());
    const absl::StatusOr<CacheFolder> folder = FindCacheFolder(choice, model, **checkpoint);
    EXPECT_THAT(folder, IsOk());
    return folder.ok() ? *folder : CacheFolder();
  }

  const std::string user_cache_ = NewTestFolder("cache");
  const std::string small_ = NewTestFolder("small");
  const std::string large_ = NewTestFolder("large");
};

TEST_F(CacheFolderTest, OffIsNoFolder) { EXPECT_FALSE(Find("off", large_).enabled()); }

TEST_F(CacheFolderTest, AutoIsBesideTheWeights) {
  const CacheFolder folder = Find("auto", large_);
  EXPECT_EQ(folder.path, std::filesystem::canonical(large_).string() + "/.phyllo");
  EXPECT_EQ(folder.stem, "model.safetensors");
  EXPECT_FALSE(std::filesystem::exists(folder.path)) << "nothing is made before it is needed";
}

TEST_F(CacheFolderTest, AutoLeavesSmallModelsAlone) {
  EXPECT_FALSE(Find("auto", small_).enabled());
}

TEST_F(CacheFolderTest, AutoIsInTheUsersCacheWhenTheModelFolderIsReadOnly) {
  chmod(large_.c_str(), 0555);
  if (access(large_.c_str(), W_OK) == 0) {
    chmod(large_.c_str(), 0755);
    GTEST_SKIP() << "this user may write to read-only folders";
  }
  const CacheFolder folder = Find("auto", large_);
  chmod(large_.c_str(), 0755);
  EXPECT_THAT(folder.path, StartsWith(user_cache_ + "/phyllo/models/"));
}

TEST_F(CacheFolderTest, AFolderHoldsModelsApart) {
  const std::string chosen = user_cache_ + "/chosen";
  const CacheFolder small = Find(chosen, small_);
  const CacheFolder large = Find(chosen, large_);
  EXPECT_THAT(small.path, StartsWith(chosen + "/"));
  EXPECT_THAT(large.path, StartsWith(chosen + "/"));
  EXPECT_NE(small.path, large.path);
  EXPECT_EQ(Find(chosen, small_ + "/../small/").path, small.path);
}

TEST_F(CacheFolderTest, ReturnsInvalidArgumentForWhatIsNoFolder) {
  const auto checkpoint = Checkpoint::Open(small_);
  PHYLLO_ASSERT_OK(checkpoint);
  const std::string file = small_ + "/model.safetensors";
  EXPECT_THAT(FindCacheFolder(file, small_, **checkpoint),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(file)));
  EXPECT_THAT(
      FindCacheFolder("", small_, **checkpoint),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("auto"), HasSubstr("off"))));
}

}  // namespace
}  // namespace phyllo
