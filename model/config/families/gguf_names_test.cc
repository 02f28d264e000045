#include "model/config/families/gguf_names.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/testing/small_config.h"
#include "model/config/weight_map.h"
#include "model/config/weight_names.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

const Json kGguf = {{"weight_names", "gguf"}};

TEST(GgufNamesTest, QueryAndKeyRowsOfLlamaAreInterleaved) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("llama", kGguf));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* const k = map.Find(WeightRole::kKProj, 1);
  ASSERT_NE(k, nullptr);
  EXPECT_THAT(k->names, ElementsAre("blk.1.attn_k.weight"));
  // Of the second head of 16: its first half is at even places, its second at odd ones.
  EXPECT_EQ(k->TensorRow(16), 16);
  EXPECT_EQ(k->TensorRow(17), 18);
  EXPECT_EQ(k->TensorRow(24), 17);
  EXPECT_EQ(k->TensorRow(31), 31);
  EXPECT_EQ(k->ContiguousRows(16, 5), 1);
  EXPECT_EQ(map.Find(WeightRole::kVProj, 1)->TensorRow(17), 17);
}

TEST(GgufNamesTest, RowsOfQwenAreAsTheyAre) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("qwen2", kGguf));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* const bias = map.Find(WeightRole::kQProjBias, 0);
  ASSERT_NE(bias, nullptr);
  EXPECT_THAT(bias->names, ElementsAre("blk.0.attn_q.bias"));
  EXPECT_EQ(bias->TensorRow(17), 17);
}

TEST(GgufNamesTest, ExpertsAreStacked) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("mixtral", kGguf));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* const down = map.Find(WeightRole::kDownProj, 0, 2);
  ASSERT_NE(down, nullptr);
  EXPECT_THAT(down->names, ElementsAre("blk.0.ffn_down_exps.weight"));
  const int64_t experts = decoder.layers[0].feed_forward.experts->num_experts;
  EXPECT_THAT(down->shape, ElementsAre(experts, 64, 160));
  EXPECT_EQ(down->TensorRow(3), 2 * 64 + 3);
}

TEST(GgufNamesTest, FusedTensorsOfPhi3) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("phi3", kGguf));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* const up = map.Find(WeightRole::kUpProj, 0);
  ASSERT_NE(up, nullptr);
  EXPECT_THAT(up->names, ElementsAre("blk.0.ffn_up.weight"));
  EXPECT_THAT(up->shape, ElementsAre(320, 64));
  EXPECT_EQ(up->row_begin, 160);
  EXPECT_THAT(map.Find(WeightRole::kVProj, 0)->names, ElementsAre("blk.0.attn_qkv.weight"));
}

TEST(GgufNamesTest, Gpt2IsNotTransposed) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("gpt2", kGguf));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* const v = map.Find(WeightRole::kVProj, 0);
  ASSERT_NE(v, nullptr);
  EXPECT_FALSE(v->transposed);
  EXPECT_THAT(v->shape, ElementsAre(192, 64));
  EXPECT_THAT(map.Find(WeightRole::kVProjBias, 0)->names, ElementsAre("blk.0.attn_qkv.bias"));
}

TEST(GgufNamesTest, NormsOfGemmaHaveTheirOffset) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription folder, DescribeSmall("gemma"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription file, DescribeSmall("gemma", kGguf));
  EXPECT_EQ(folder.norm.weight_offset, 1.0f);
  EXPECT_EQ(file.norm.weight_offset, 0.0f);
}

TEST(GgufNamesTest, OtherFamiliesAndNamesAreRefused) {
  EXPECT_THAT(
      SmallConfigError("minimind", kGguf),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("weight_names \"gguf\" is not supported with model_type \"minimind\"")));
  EXPECT_THAT(SmallConfigError("llama", {{"weight_names", "other"}}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("weight_names \"other\" is not supported")));
}

}  // namespace
}  // namespace phyllo
