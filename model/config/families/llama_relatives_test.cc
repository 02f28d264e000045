#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

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

TEST(CohereTest, IsParallelBehindOneNormWithoutBias) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("cohere", {{"layer_norm_eps", 1e-5}, {"logit_scale", 0.25}}));
  EXPECT_EQ(decoder.norm.kind, NormKind::kLayerNorm);
  EXPECT_FALSE(decoder.norm.bias);
  EXPECT_EQ(decoder.logits_divisor, 4.0f);
  EXPECT_EQ(decoder.ropes[0].layout, RopeLayout::kInterleaved);
  EXPECT_EQ(decoder.layers[0].residual, ResidualForm::kParallel);
  EXPECT_FALSE(decoder.layers[0].feed_forward_norm);
  const WeightMap map = BuildWeightMap(decoder);
  EXPECT_EQ(map.Find(WeightRole::kInputNormBias, 0), nullptr);
  EXPECT_EQ(map.Find(WeightRole::kFeedForwardNorm, 0), nullptr);
}

TEST(CohereTest, RefusesQkNorm) {
  EXPECT_THAT(SmallConfigError("cohere", {{"layer_norm_eps", 1e-5}, {"use_qk_norm", true}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("use_qk_norm true")));
}

TEST(StableLmTest, HasLayerNormAndAPartOfTheHeadRotated) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("stablelm", {{"layer_norm_eps", 1e-5}, {"use_qkv_bias", true}}));
  EXPECT_EQ(decoder.norm.kind, NormKind::kLayerNorm);
  EXPECT_TRUE(decoder.norm.bias);
  EXPECT_EQ(decoder.ropes[0].rotary_dim, 4);
  EXPECT_TRUE(decoder.layers[0].attention.q_bias && decoder.layers[0].attention.v_bias);
  EXPECT_FALSE(decoder.layers[0].attention.o_bias);
  EXPECT_EQ(decoder.layers[0].residual, ResidualForm::kSequential);
}

TEST(GraniteTest, HasFourMultipliers) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("granite", {{"embedding_multiplier", 6.0},
                                                        {"residual_multiplier", 0.5},
                                                        {"attention_multiplier", 0.125},
                                                        {"logits_scaling", 1.5}}));
  EXPECT_EQ(decoder.embedding_scale, 6.0f);
  EXPECT_EQ(decoder.residual_multiplier, 0.5f);
  EXPECT_EQ(decoder.logits_divisor, 1.5f);
  for (const LayerDescription& layer : decoder.layers) EXPECT_EQ(layer.attention.scale, 0.125f);
}

TEST(GraniteTest, RefusesMultiplierOfZero) {
  EXPECT_THAT(SmallConfigError("granite", {{"logits_scaling", 0.0}}),
              StatusIs(kInvalid, HasSubstr("logits_scaling must be in")));
}

TEST(Olmo2Test, HasNormsBehindTheHalvesOnly) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("olmo2"));
  const LayerDescription& layer = decoder.layers[3];
  EXPECT_FALSE(layer.input_norm || layer.feed_forward_norm);
  EXPECT_TRUE(layer.attention_output_norm && layer.feed_forward_output_norm);
  EXPECT_EQ(layer.attention.qk_norm, QkNorm::kProjection);
  const WeightMap map = BuildWeightMap(decoder);
  EXPECT_EQ(map.Find(WeightRole::kInputNorm, 0), nullptr);
  EXPECT_THAT(map.Find(WeightRole::kQNorm, 0)->shape, ElementsAre(64));
  EXPECT_THAT(map.Find(WeightRole::kKNorm, 0)->shape, ElementsAre(32));
  EXPECT_EQ(map.Find(WeightRole::kAttentionOutputNorm, 1)->names.front(),
            "model.layers.1.post_attention_layernorm.weight");
}

TEST(Phi3Test, FusesProjections) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("phi3"));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* v = map.Find(WeightRole::kVProj, 0);
  ASSERT_NE(v, nullptr);
  EXPECT_EQ(v->names.front(), "model.layers.0.self_attn.qkv_proj.weight");
  EXPECT_THAT(v->shape, ElementsAre(128, 64));
  EXPECT_EQ(v->row_begin, 96);
  EXPECT_EQ(v->rows, 32);
  const WeightSpec* up = map.Find(WeightRole::kUpProj, 0);
  ASSERT_NE(up, nullptr);
  EXPECT_THAT(up->shape, ElementsAre(320, 64));
  EXPECT_EQ(up->row_begin, 160);
}

Json Longrope(int64_t pairs) {
  return {{"type", "longrope"},
          {"short_factor", std::vector<double>(pairs, 1.5)},
          {"long_factor", std::vector<double>(pairs, 4.0)}};
}

TEST(Phi3Test, ReadsLongropeOverAPartOfTheHead) {
  for (const char* name : {"longrope", "su", "yarn"}) {
    Json rope = Longrope(6);
    rope["type"] = name;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                                DescribeSmall("phi3", {{"rope_scaling", rope},
                                                       {"partial_rotary_factor", 0.75},
                                                       {"original_max_position_embeddings", 64}}));
    const RopeDescription& read = decoder.ropes[0];
    EXPECT_EQ(read.rotary_dim, 12);
    EXPECT_EQ(read.parameters.rope_type, RopeType::kLongrope);
    EXPECT_EQ(read.parameters.original_max_position_embeddings, 64);
    EXPECT_EQ(read.parameters.factor, 4.0);
    EXPECT_EQ(read.parameters.short_factor, std::vector<double>(6, 1.5));
    EXPECT_EQ(read.parameters.long_factor, std::vector<double>(6, 4.0));
  }
}

TEST(Phi3Test, RefusesLongropeThatDoesNotFit) {
  EXPECT_THAT(SmallConfigError("phi3", {{"rope_scaling", Longrope(7)},
                                        {"original_max_position_embeddings", 64}}),
              StatusIs(kInvalid, HasSubstr("short_factor must have 8 numbers, one for each rotated "
                                           "pair, has 7")));
  EXPECT_THAT(SmallConfigError("phi3", {{"rope_scaling", Longrope(8)}}),
              StatusIs(kInvalid, HasSubstr("needs an original_max_position_embeddings")));
}

TEST(SmolLm3Test, HasNoPositionsInEveryFourthLayer) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("smollm3"));
  EXPECT_EQ(decoder.layers[2].attention.rope, 0);
  EXPECT_EQ(decoder.layers[3].attention.rope, std::nullopt);
  EXPECT_TRUE(decoder.tie_word_embeddings);
}

TEST(SmolLm3Test, TakesListOverInterval) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("smollm3", {{"no_rope_layers", {1, 0, 1, 1}}, {"no_rope_layer_interval", 4}}));
  EXPECT_EQ(decoder.layers[1].attention.rope, std::nullopt);
  EXPECT_EQ(decoder.layers[3].attention.rope, 0);
}

TEST(SmolLm3Test, SlidesWhereThereAreNoPositions) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("smollm3", {{"use_sliding_window", true}, {"sliding_window", 32}}));
  EXPECT_EQ(decoder.layers[0].attention.sliding_window, std::nullopt);
  EXPECT_EQ(decoder.layers[3].attention.sliding_window, 32);
}

TEST(SmolLm3Test, RefusesListOfAnotherLength) {
  EXPECT_THAT(
      SmallConfigError("smollm3", {{"no_rope_layers", {1, 0}}}),
      StatusIs(kInvalid, HasSubstr("no_rope_layers has 2 entries, num_hidden_layers is 4")));
}

}  // namespace
}  // namespace phyllo
