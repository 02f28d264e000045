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

TEST(Qwen2Test, HasBiasesOnQueryKeyAndValueOnly) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("qwen2"));
  const AttentionDescription& attention = decoder.layers[0].attention;
  EXPECT_TRUE(attention.q_bias && attention.k_bias && attention.v_bias);
  EXPECT_FALSE(attention.o_bias);
  EXPECT_EQ(attention.sliding_window, std::nullopt);
}

TEST(Qwen2Test, SlidesFromMaxWindowLayersOn) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("qwen2", {{"use_sliding_window", true},
                                                      {"sliding_window", 12},
                                                      {"max_window_layers", 1}}));
  EXPECT_EQ(decoder.layers[0].attention.sliding_window, std::nullopt);
  EXPECT_EQ(decoder.layers[1].attention.sliding_window, 12);
}

TEST(Qwen2Test, LeavesWindowOutWhenSwitchedOff) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("qwen2", {{"use_sliding_window", false},
                                                      {"sliding_window", 12},
                                                      {"max_window_layers", 0}}));
  EXPECT_EQ(decoder.layers[3].attention.sliding_window, std::nullopt);
}

TEST(Qwen2Test, TakesLayerTypesOverMaxWindowLayers) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("qwen2", {{"use_sliding_window", true},
                                                      {"sliding_window", 12},
                                                      {"max_window_layers", 0},
                                                      {"layer_types",
                                                       {"full_attention", "full_attention",
                                                        "sliding_attention", "full_attention"}}}));
  EXPECT_EQ(decoder.layers[0].attention.sliding_window, std::nullopt);
  EXPECT_EQ(decoder.layers[2].attention.sliding_window, 12);
  EXPECT_EQ(decoder.layers[3].attention.sliding_window, std::nullopt);
}

TEST(Qwen2Test, ExtendsPositionsToWhatYarnScalesTo) {
  Json yarn = {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 256}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription scaled,
                              DescribeSmall("qwen2", {{"rope_scaling", yarn}}));
  EXPECT_EQ(scaled.max_position_embeddings, 1024);
  yarn["original_max_position_embeddings"] = 8;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription declared,
                              DescribeSmall("qwen2", {{"rope_scaling", yarn}}));
  EXPECT_EQ(declared.max_position_embeddings, 256);
}

TEST(Qwen2Test, NeedsWhatTheReferenceHasNoUsefulDefaultFor) {
  EXPECT_THAT(SmallConfigError("qwen2", {{"rope_theta", nullptr}}),
              StatusIs(kInvalid, HasSubstr("rope_theta is missing")));
  EXPECT_THAT(SmallConfigError("qwen2", {{"num_key_value_heads", nullptr}}),
              StatusIs(kInvalid, HasSubstr("num_key_value_heads is missing")));
  EXPECT_THAT(SmallConfigError("qwen2", {{"mlp_bias", true}}),
              StatusIs(kUnsupported, HasSubstr("mlp_bias")));
}

TEST(Qwen3Test, NormalizesEachHeadOfQueryAndKey) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("qwen3"));
  EXPECT_EQ(decoder.layers[1].attention.qk_norm, QkNorm::kHead);
  EXPECT_FALSE(decoder.layers[1].attention.q_bias);
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* spec = map.Find(WeightRole::kQNorm, 0);
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(spec->names.front(), "model.layers.0.self_attn.q_norm.weight");
  EXPECT_THAT(spec->shape, ElementsAre(16));
}

TEST(Qwen3Test, NeedsHeadDim) {
  EXPECT_THAT(SmallConfigError("qwen3", {{"head_dim", nullptr}}),
              StatusIs(kInvalid, HasSubstr("head_dim is missing")));
}

TEST(Qwen3MoeTest, HasExpertsWhereTheStepSaysAndDenseLayersElsewhere) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("qwen3_moe", {{"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}}));
  EXPECT_FALSE(decoder.layers[0].feed_forward.experts.has_value());
  EXPECT_EQ(decoder.layers[0].feed_forward.intermediate_size, 160);
  ASSERT_TRUE(decoder.layers[1].feed_forward.experts.has_value());
  EXPECT_EQ(decoder.layers[1].feed_forward.intermediate_size, 40);
  EXPECT_EQ(*decoder.layers[1].feed_forward.experts, (ExpertsDescription{.num_experts = 8,
                                                                         .num_experts_per_tok = 3,
                                                                         .norm_topk_prob = false,
                                                                         .num_shared_experts = 0}));
  EXPECT_FALSE(decoder.layers[2].feed_forward.experts.has_value());
  EXPECT_FALSE(decoder.layers[3].feed_forward.experts.has_value());
}

TEST(Qwen3MoeTest, NamesExpertsAndRouter) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("qwen3_moe"));
  const WeightMap map = BuildWeightMap(decoder);
  EXPECT_EQ(map.Find(WeightRole::kGateProj, 1, 7)->names.front(),
            "model.layers.1.mlp.experts.7.gate_proj.weight");
  EXPECT_EQ(map.Find(WeightRole::kRouter, 1)->names.front(), "model.layers.1.mlp.gate.weight");
  EXPECT_EQ(map.Find(WeightRole::kGateProj, 1), nullptr);
}

}  // namespace
}  // namespace phyllo
