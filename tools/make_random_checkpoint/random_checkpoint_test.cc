#include "tools/make_random_checkpoint/random_checkpoint.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/weight_map.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr char kGolden[] = "tests/golden/data/models/";

std::string ReadText(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

RandomCheckpointOptions OptionsFor(const std::string& model, const std::string& name) {
  RandomCheckpointOptions options;
  options.config_path = absl::StrCat(kGolden, model, "/config.json");
  options.output_directory =
      absl::StrCat(::testing::TempDir(), "/",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name(), name);
  return options;
}

// Opens a written folder as the services do.
absl::StatusOr<std::unique_ptr<Checkpoint>> OpenChecked(const std::string& folder) {
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config,
                          ParseModelConfig(ReadText(absl::StrCat(folder, "/config.json"))));
  PHYLLO_ASSIGN_OR_RETURN(const DecoderDescription description, DescribeDecoder(config));
  PHYLLO_ASSIGN_OR_RETURN(std::unique_ptr<Checkpoint> checkpoint, Checkpoint::Open(folder));
  PHYLLO_RETURN_IF_ERROR(CheckTensors(BuildWeightMap(description), *checkpoint));
  return checkpoint;
}

std::vector<float> Values(const TensorView& tensor) {
  std::vector<float> values(tensor.num_elements());
  ConvertToFloat(tensor.dtype, tensor.data.data(), absl::MakeSpan(values));
  return values;
}

TEST(WriteRandomCheckpointTest, FitsItsConfigForEveryFamily) {
  for (const char* model :
       {"gemma2", "gpt2", "gpt_neox", "llama-bias", "llama-seqcls", "minimind-seed",
        "minimind1-moe", "minimind2-moe", "minimind3", "minimind3-pth", "mixtral", "olmo2", "phi3",
        "qwen2", "qwen3", "qwen3-embedding", "qwen3_moe"}) {
    const RandomCheckpointOptions options = OptionsFor(model, model);
    PHYLLO_ASSERT_OK_AND_ASSIGN(const RandomCheckpointResult result,
                                WriteRandomCheckpoint(options));
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                                OpenChecked(options.output_directory));
    EXPECT_EQ(checkpoint->total_bytes(), result.weight_bytes) << model;
    EXPECT_EQ(result.weight_bytes, 2 * result.parameter_count) << model;
    EXPECT_EQ(result.shard_count, 1);
  }
}

TEST(WriteRandomCheckpointTest, FillsNormalMatricesAndOnesInNorms) {
  RandomCheckpointOptions options = OptionsFor("qwen2", "");
  options.dtype = DType::kF32;
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(options).status());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              OpenChecked(options.output_directory));
  const std::vector<float> matrix = Values(*checkpoint->Find("model.embed_tokens.weight"));
  double sum = 0, squares = 0;
  for (const float value : matrix) {
    sum += value;
    squares += value * value;
  }
  const double count = static_cast<double>(matrix.size());
  EXPECT_NEAR(sum / count, 0.0, 5 * 0.02 / std::sqrt(count));  // five standard errors
  EXPECT_NEAR(std::sqrt(squares / count), 0.02, 5 * 0.02 / std::sqrt(2 * count));
  EXPECT_THAT(Values(*checkpoint->Find("model.norm.weight")), Each(1.0f));
  EXPECT_THAT(Values(*checkpoint->Find("model.layers.0.self_attn.q_proj.bias")), Each(0.0f));
}

TEST(WriteRandomCheckpointTest, FillsZerosInNormsOfOnePlusWeight) {
  const RandomCheckpointOptions options = OptionsFor("gemma2", "");
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(options).status());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                              OpenChecked(options.output_directory));
  EXPECT_THAT(Values(*checkpoint->Find("model.norm.weight")), Each(0.0f));
}

TEST(WriteRandomCheckpointTest, GivesSameWeightsForSameSeedHoweverSplit) {
  const RandomCheckpointOptions one = OptionsFor("llama-sharded", "one");
  RandomCheckpointOptions many = OptionsFor("llama-sharded", "many");
  many.max_shard_bytes = 70'000;
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(one).status());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const RandomCheckpointResult result, WriteRandomCheckpoint(many));
  EXPECT_GT(result.shard_count, 3);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> a,
                              OpenChecked(one.output_directory));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> b,
                              OpenChecked(many.output_directory));
  ASSERT_EQ(a->tensors().size(), b->tensors().size());
  for (const TensorView& tensor : a->tensors())
    EXPECT_EQ(tensor.data, b->Find(tensor.name)->data) << tensor.name;
}

TEST(WriteRandomCheckpointTest, GivesOtherWeightsForOtherSeed) {
  const RandomCheckpointOptions one = OptionsFor("gpt2", "one");
  RandomCheckpointOptions two = OptionsFor("gpt2", "two");
  two.seed = 2;
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(one).status());
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(two).status());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> a,
                              OpenChecked(one.output_directory));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> b,
                              OpenChecked(two.output_directory));
  EXPECT_NE(a->Find("transformer.wte.weight")->data, b->Find("transformer.wte.weight")->data);
}

TEST(WriteRandomCheckpointTest, WritesItsDTypeIntoConfig) {
  RandomCheckpointOptions options = OptionsFor("qwen3", "");
  options.dtype = DType::kF16;
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(options).status());
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const ModelConfig config,
      ParseModelConfig(ReadText(absl::StrCat(options.output_directory, "/config.json"))));
  EXPECT_EQ(config.dtype, DType::kF16);
}

TEST(WriteRandomCheckpointTest, CopiesTokenizer) {
  RandomCheckpointOptions options = OptionsFor("stories260K", "");
  options.tokenizer_path = absl::StrCat(kGolden, "stories260K/tokenizer.json");
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(options).status());
  EXPECT_EQ(ReadText(absl::StrCat(options.output_directory, "/tokenizer.json")),
            ReadText(options.tokenizer_path));
}

TEST(WriteRandomCheckpointTest, ReturnsAlreadyExistsForFolderWithCheckpoint) {
  const RandomCheckpointOptions options = OptionsFor("qwen3", "");
  PHYLLO_ASSERT_OK(WriteRandomCheckpoint(options).status());
  EXPECT_THAT(WriteRandomCheckpoint(options),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("model.safetensors")));
}

TEST(WriteRandomCheckpointTest, ReturnsErrorsOfConfigAndOptions) {
  RandomCheckpointOptions options = OptionsFor("none", "");
  EXPECT_THAT(WriteRandomCheckpoint(options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/config.json")));
  options = OptionsFor("qwen3", "");
  options.dtype = DType::kI64;
  EXPECT_THAT(WriteRandomCheckpoint(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("F32, F16 or BF16")));
  options = OptionsFor("qwen3", "");
  options.max_shard_bytes = 0;
  EXPECT_THAT(WriteRandomCheckpoint(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_shard_bytes")));
}

}  // namespace
}  // namespace phyllo
