#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "model/base/status_macros.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/rope.h"
#include "model/config/weight_map.h"

// Every golden model of the project, and the demo model: files as the reference writes them.

namespace phyllo {
namespace {

absl::StatusOr<ModelConfig> Read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  return ParseModelConfig(text);
}

class GoldenConfigTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenConfigTest, HasExactlyTheTensorsOfItsConfig) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, Read(GetParam() + "/config.json"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              Checkpoint::Open(GetParam()));
  PHYLLO_EXPECT_OK(CheckTensors(BuildWeightMap(config.decoder), *checkpoint));
}

TEST_P(GoldenConfigTest, MeansTheSameInBothKeyStyles) {
  if (!std::filesystem::exists(GetParam() + "/config_v4.json"))
    GTEST_SKIP() << "this model was published in one key style";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig v5, Read(GetParam() + "/config.json"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig v4, Read(GetParam() + "/config_v4.json"));
  EXPECT_TRUE(v5.decoder == v4.decoder);
  EXPECT_EQ(v5.architectures, v4.architectures);
  EXPECT_EQ(v5.labels, v4.labels);
  EXPECT_EQ(v5.problem_type, v4.problem_type);
  EXPECT_EQ(v5.eos_token_id, v4.eos_token_id);
  EXPECT_EQ(v5.bos_token_id, v4.bos_token_id);
  EXPECT_EQ(v5.pad_token_id, v4.pad_token_id);
  EXPECT_EQ(v5.dtype, v4.dtype);
}

TEST_P(GoldenConfigTest, HasFrequenciesForEveryRope) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, Read(GetParam() + "/config.json"));
  for (const RopeDescription& rope : config.decoder.ropes) {
    PHYLLO_EXPECT_OK(RopeFrequencies::Create(rope.parameters, rope.rotary_dim,
                                             config.decoder.max_position_embeddings)
                         .status());
  }
}

std::vector<std::string> Folders() {
  std::vector<std::string> folders = {"model/demo"};
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/data/models")) {
    if (std::filesystem::exists(entry.path() / "config.json"))
      folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenConfigTest, ::testing::ValuesIn(Folders()),
                         [](const auto& info) {
                           std::string name = std::filesystem::path(info.param).filename().string();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(GoldenConfigsTest, AreAllThere) { EXPECT_GE(Folders().size(), 46); }

}  // namespace
}  // namespace phyllo
