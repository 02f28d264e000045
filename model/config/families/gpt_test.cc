#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/rope_parameters.h"
#include "model/config/testing/small_config.h"
#include "model/config/weight_map.h"
#include "model/config/weight_names.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;

TEST(Gpt2Test, IsDescribed) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("gpt2"));
  EXPECT_EQ(decoder.norm.kind, NormKind::kLayerNorm);
  EXPECT_EQ(decoder.norm.eps, 1e-5f);
  EXPECT_TRUE(decoder.norm.bias);
  EXPECT_EQ(decoder.positions, PositionKind::kLearned);
  EXPECT_TRUE(decoder.ropes.empty());
  EXPECT_TRUE(decoder.tie_word_embeddings);
  const LayerDescription& layer = decoder.layers[0];
  EXPECT_EQ(layer.attention.rope, std::nullopt);
  EXPECT_EQ(layer.attention.num_key_value_heads, 4);
  EXPECT_TRUE(layer.attention.q_bias && layer.attention.k_bias && layer.attention.v_bias &&
              layer.attention.o_bias);
  EXPECT_EQ(layer.feed_forward.activation, Activation::kGeluTanh);
  EXPECT_FALSE(layer.feed_forward.gated);
  EXPECT_FALSE(layer.feed_forward.gate_bias);
  EXPECT_TRUE(layer.feed_forward.up_bias && layer.feed_forward.down_bias);
}

TEST(Gpt2Test, TakesFourTimesHiddenSizeWithoutInner) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("gpt2", {{"n_inner", nullptr}}));
  EXPECT_EQ(decoder.layers[0].feed_forward.intermediate_size, 256);
}

TEST(Gpt2Test, ScalesScoresAsAsked) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription by_layer,
                              DescribeSmall("gpt2", {{"scale_attn_by_inverse_layer_idx", true}}));
  EXPECT_EQ(by_layer.layers[0].attention.scale, 0.25f);
  EXPECT_EQ(by_layer.layers[1].attention.scale, 0.125f);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription unscaled,
                              DescribeSmall("gpt2", {{"scale_attn_weights", false}}));
  EXPECT_EQ(unscaled.layers[1].attention.scale, 1.0f);
}

TEST(Gpt2Test, HasFusedTransposedProjections) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("gpt2"));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* v = map.Find(WeightRole::kVProj, 0);
  ASSERT_NE(v, nullptr);
  EXPECT_THAT(v->names,
              ElementsAre("transformer.h.0.attn.c_attn.weight", "h.0.attn.c_attn.weight"));
  EXPECT_THAT(v->shape, ElementsAre(64, 192));
  EXPECT_TRUE(v->transposed);
  EXPECT_EQ(v->row_begin, 128);
  const WeightSpec* bias = map.Find(WeightRole::kKProjBias, 0);
  ASSERT_NE(bias, nullptr);
  EXPECT_THAT(bias->shape, ElementsAre(192));
  EXPECT_EQ(bias->row_begin, 64);
  EXPECT_FALSE(bias->transposed);
}

TEST(Gpt2Test, RefusesBadSizesByTheirOwnNames) {
  EXPECT_THAT(SmallConfigError("gpt2", {{"n_head", 7}}),
              StatusIs(kInvalid, HasSubstr("n_head 7 does not divide n_embd 64")));
  EXPECT_THAT(SmallConfigError("gpt2", {{"n_positions", nullptr}}),
              StatusIs(kInvalid, HasSubstr("n_positions is missing")));
  EXPECT_THAT(SmallConfigError("gpt2", {{"add_cross_attention", true}}),
              StatusIs(kUnsupported, HasSubstr("add_cross_attention true")));
}

TEST(GptNeoxTest, RotatesAQuarterOfTheHeadAndIsParallel) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("gpt_neox", {{"rotary_emb_base", 2e4}}));
  EXPECT_EQ(decoder.ropes[0].rotary_dim, 4);
  EXPECT_EQ(decoder.ropes[0].parameters.rope_theta, 2e4);
  const LayerDescription& layer = decoder.layers[0];
  EXPECT_EQ(layer.residual, ResidualForm::kParallel);
  EXPECT_TRUE(layer.input_norm && layer.feed_forward_norm);
  EXPECT_TRUE(layer.attention.q_bias && layer.attention.o_bias && layer.feed_forward.up_bias);
  EXPECT_FALSE(layer.feed_forward.gated);
  EXPECT_EQ(layer.feed_forward.activation, Activation::kGeluErf);
}

TEST(GptNeoxTest, IsSequentialWhenAsked) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("gpt_neox", {{"use_parallel_residual", false}, {"rotary_pct", 1.0}}));
  EXPECT_EQ(decoder.layers[0].residual, ResidualForm::kSequential);
  EXPECT_EQ(decoder.ropes[0].rotary_dim, 16);
}

TEST(GptNeoxTest, FindsRowsOfEachHeadInTheFusedTensor) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("gpt_neox"));
  const WeightMap map = BuildWeightMap(decoder);
  for (const WeightRole role : {WeightRole::kKProj, WeightRole::kKProjBias}) {
    const WeightSpec* k = map.Find(role, 1);
    ASSERT_NE(k, nullptr);
    EXPECT_EQ(k->shape[0], 192);
    EXPECT_EQ(k->TensorRow(0), 16);            // head 0 is rows 0 .. 47: q, k, v
    EXPECT_EQ(k->TensorRow(17), 48 + 16 + 1);  // row 1 of head 1
    EXPECT_EQ(k->ContiguousRows(17, 64), 15);
  }
  EXPECT_EQ(map.Find(WeightRole::kLmHead)->names.front(), "embed_out.weight");
}

}  // namespace
}  // namespace phyllo
