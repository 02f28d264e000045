#include "model/checkpoint/checkpoint.h"

#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/digest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kGolden[] = "tests/golden/data/models/";

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    mkdir(folder_.c_str(), 0700);
  }

  void Write(absl::string_view name, absl::string_view bytes) {
    std::ofstream(absl::StrCat(folder_, "/", name), std::ios::binary) << bytes;
  }

  // A file with one F32 tensor of one element.
  static std::string OneTensor(const std::string& name) {
    return SafetensorsHeader({{{name, DType::kF32, {1}}}}) + "abcd";
  }

  std::string folder_;
};

TEST_F(CheckpointTest, OpensSingleFile) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              Checkpoint::Open(absl::StrCat(kGolden, "llama-gqa")));
  EXPECT_EQ(checkpoint->tensors().size(), 30);
  const TensorView* tensor = checkpoint->Find("model.embed_tokens.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, DType::kBf16);
  EXPECT_THAT(tensor->shape, ElementsAre(509, 72));
  EXPECT_EQ(tensor->data.size(), 509 * 72 * 2);
  EXPECT_EQ(checkpoint->Find("model.embed_tokens"), nullptr);
}

TEST_F(CheckpointTest, OpensShards) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              Checkpoint::Open(absl::StrCat(kGolden, "llama-sharded")));
  EXPECT_EQ(checkpoint->shards().size(), 3);
  EXPECT_EQ(checkpoint->shards()[0].name, "model-00001-of-00003.safetensors");
  EXPECT_EQ(checkpoint->total_bytes(), 427136);  // metadata.total_size of the index
  EXPECT_NE(checkpoint->Find("lm_head.weight"), nullptr);
  EXPECT_NE(checkpoint->Find("model.layers.0.mlp.up_proj.weight"), nullptr);
  for (size_t i = 1; i < checkpoint->tensors().size(); ++i) {
    EXPECT_LT(checkpoint->tensors()[i - 1].name, checkpoint->tensors()[i].name);
  }
}

TEST_F(CheckpointTest, PrefersSingleFileToIndex) {
  Write("model.safetensors", OneTensor("a"));
  Write("model.safetensors.index.json", "{");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              Checkpoint::Open(folder_));
  EXPECT_EQ(checkpoint->tensors().size(), 1);
}

TEST_F(CheckpointTest, ReturnsNotFoundWithoutFolder) {
  EXPECT_THAT(Checkpoint::Open(absl::StrCat(folder_, "/none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("neither model.safetensors")));
}

TEST_F(CheckpointTest, ReturnsNotFoundForMissingShard) {
  Write("model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors"}})");
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("tensor \"a\" is in \"one.safetensors\", which is missing")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentWhenShardLacksTensor) {
  Write("model.safetensors.index.json",
        R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}})");
  Write("one.safetensors", OneTensor("a"));
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tensor \"b\" is not in \"one.safetensors\"")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentWhenIndexNamesTheOtherShard) {
  Write("model.safetensors.index.json",
        R"({"weight_map": {"a": "two.safetensors", "b": "one.safetensors"}})");
  Write("one.safetensors", OneTensor("a"));
  Write("two.safetensors", OneTensor("b"));
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tensor \"a\" is not in \"two.safetensors\"")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentWhenIndexLacksTensor) {
  Write("model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors"}})");
  Write("one.safetensors",
        SafetensorsHeader({{{"a", DType::kU8, {1}}, {"b", DType::kU8, {1}}}}) + "xy");
  EXPECT_THAT(Checkpoint::Open(folder_), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  HasSubstr("does not name tensor \"b\"")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentWhenTwoShardsHoldTensor) {
  Write("model.safetensors.index.json",
        R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  Write("one.safetensors", OneTensor("a"));
  Write("two.safetensors",
        SafetensorsHeader({{{"a", DType::kU8, {1}}, {"b", DType::kU8, {1}}}}) + "xy");
  EXPECT_THAT(
      Checkpoint::Open(folder_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("tensor \"a\" is in \"one.safetensors\" and in \"two.safetensors\"")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentForShardOutsideFolder) {
  Write("model.safetensors.index.json", R"({"weight_map": {"a": "../model.safetensors"}})");
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"../model.safetensors\" is not a file name")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentForTruncatedFile) {
  const std::string whole = OneTensor("a");
  Write("model.safetensors", absl::string_view(whole).substr(0, whole.size() - 1));
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.safetensors: tensor \"a\": data_offsets")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentForEmptyFile) {
  Write("model.safetensors", "");
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("truncated: 0 bytes")));
}

TEST_F(CheckpointTest, ReturnsInvalidArgumentForFolderInPlaceOfFile) {
  mkdir(absl::StrCat(folder_, "/model.safetensors").c_str(), 0700);
  EXPECT_THAT(Checkpoint::Open(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
}

TEST_F(CheckpointTest, DigestsAllShardsInNameOrder) {
  const std::string one = OneTensor("b");
  const std::string two = OneTensor("a");
  Write("model.safetensors.index.json",
        R"({"weight_map": {"a": "2.safetensors", "b": "1.safetensors"}})");
  Write("1.safetensors", one);
  Write("2.safetensors", two);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              Checkpoint::Open(folder_));
  std::vector<int64_t> done;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string digest,
                              ComputeWeightsDigest(*checkpoint, [&](int64_t bytes, int64_t total) {
                                done.push_back(bytes);
                                return total == static_cast<int64_t>(one.size() + two.size());
                              }));
  EXPECT_EQ(digest, Sha256Hex(one + two));
  EXPECT_THAT(done, ElementsAre(one.size(), one.size() + two.size()));
}

TEST_F(CheckpointTest, ReturnsCancelledWhenDigestIsStopped) {
  Write("model.safetensors", OneTensor("a"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              Checkpoint::Open(folder_));
  EXPECT_THAT(ComputeWeightsDigest(*checkpoint, [](int64_t, int64_t) { return false; }),
              StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace phyllo
