#include "model/heads/pooling_config.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

TEST(PoolingConfigTest, ReadsTheModeThatIsTrue) {
  EXPECT_EQ(*ParsePoolingConfig(R"({"word_embedding_dimension": 1024,
      "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": false,
      "pooling_mode_lasttoken": true, "include_prompt": true})"),
            Pooling::kLast);
  EXPECT_EQ(*ParsePoolingConfig(R"({"pooling_mode_mean_tokens": true})"), Pooling::kMean);
  EXPECT_EQ(*ParsePoolingConfig(R"({"pooling_mode_cls_token": true})"), Pooling::kCls);
}

TEST(PoolingConfigTest, RefusesOtherModesByName) {
  EXPECT_THAT(
      ParsePoolingConfig(R"({"pooling_mode_max_tokens": true})"),
      StatusIs(absl::StatusCode::kUnimplemented, ::testing::HasSubstr("pooling_mode_max_tokens")));
}

TEST(PoolingConfigTest, RefusesTwoModes) {
  EXPECT_THAT(
      ParsePoolingConfig(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})"),
      StatusIs(absl::StatusCode::kUnimplemented, ::testing::HasSubstr("beside another")));
}

TEST(PoolingConfigTest, RefusesAFileWithoutAMode) {
  EXPECT_THAT(ParsePoolingConfig(R"({"pooling_mode_mean_tokens": false})"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PoolingConfigTest, FolderWithoutTheFileUsesTheLastToken) {
  const std::string folder = ::testing::TempDir() + "/plain";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(*ReadFolderPooling(folder), Pooling::kLast);
}

TEST(PoolingConfigTest, ReadsTheFolder) {
  const std::string folder = ::testing::TempDir() + "/sentence";
  std::filesystem::create_directories(folder + "/1_Pooling");
  std::ofstream(folder + "/1_Pooling/config.json") << R"({"pooling_mode_mean_tokens": true})";
  EXPECT_EQ(*ReadFolderPooling(folder), Pooling::kMean);
}

}  // namespace
}  // namespace phyllo
