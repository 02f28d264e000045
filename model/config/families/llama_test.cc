#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
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

TEST(LlamaTest, IsDescribedWithoutBiasesOrQkNorm) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("llama"));
  ASSERT_EQ(decoder.num_hidden_layers(), 4);
  EXPECT_EQ(decoder.norm.kind, NormKind::kRmsNorm);
  EXPECT_EQ(decoder.norm.eps, 1e-5f);
  EXPECT_FALSE(decoder.norm.bias);
  EXPECT_EQ(decoder.positions, PositionKind::kRope);
  EXPECT_EQ(decoder.embedding_scale, 1.0f);
  EXPECT_FALSE(decoder.tie_word_embeddings);
  for (const LayerDescription& layer : decoder.layers) {
    EXPECT_EQ(layer.attention.rope, 0);
    EXPECT_EQ(layer.attention.qk_norm, QkNorm::kNone);
    EXPECT_EQ(layer.attention.scale, 0.25f);
    EXPECT_EQ(layer.attention.num_key_value_heads, 2);
    EXPECT_FALSE(layer.attention.q_bias || layer.attention.k_bias || layer.attention.v_bias ||
                 layer.attention.o_bias);
    EXPECT_EQ(layer.attention.sliding_window, std::nullopt);
    EXPECT_EQ(layer.feed_forward.activation, Activation::kSilu);
    EXPECT_TRUE(layer.feed_forward.gated);
    EXPECT_EQ(layer.feed_forward.intermediate_size, 160);
    EXPECT_FALSE(layer.feed_forward.gate_bias || layer.feed_forward.up_bias ||
                 layer.feed_forward.down_bias);
  }
}

TEST(LlamaTest, TakesDefaultsOfItsConfigClass) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("llama", {{"num_key_value_heads", nullptr},
                                                      {"rope_theta", nullptr},
                                                      {"head_dim", nullptr}}));
  EXPECT_EQ(decoder.layers[0].attention.num_key_value_heads, 4);
  EXPECT_EQ(decoder.layers[0].attention.head_dim, 16);
  EXPECT_EQ(decoder.ropes[0].parameters.rope_theta, 10000.0);
}

TEST(LlamaTest, HasBiasesWhenAsked) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("llama", {{"attention_bias", true}, {"mlp_bias", true}}));
  const LayerDescription& layer = decoder.layers[1];
  EXPECT_TRUE(layer.attention.q_bias && layer.attention.k_bias && layer.attention.v_bias &&
              layer.attention.o_bias);
  EXPECT_TRUE(layer.feed_forward.gate_bias && layer.feed_forward.up_bias &&
              layer.feed_forward.down_bias);
}

TEST(LlamaTest, RefusesOptionsOfOtherFamilies) {
  EXPECT_THAT(SmallConfigError("llama", {{"use_sliding_window", true}}),
              StatusIs(kUnsupported, HasSubstr("use_sliding_window true")));
  EXPECT_THAT(SmallConfigError("llama", {{"attn_logit_softcapping", 50.0}}),
              StatusIs(kUnsupported, HasSubstr("attn_logit_softcapping")));
  EXPECT_THAT(SmallConfigError("llama", {{"no_rope_layers", {1, 1, 1, 0}}}),
              StatusIs(kUnsupported, HasSubstr("no_rope_layers")));
  EXPECT_THAT(SmallConfigError("llama", {{"num_local_experts", 8}}),
              StatusIs(kUnsupported, HasSubstr("num_local_experts: experts")));
  EXPECT_THAT(
      SmallConfigError(
          "llama", {{"layer_types",
                     {"full_attention", "sliding_attention", "full_attention", "full_attention"}}}),
      StatusIs(kUnsupported, HasSubstr("layer_types \"sliding_attention\"")));
  EXPECT_THAT(SmallConfigError("llama", {{"layer_types", {"full_attention"}}}),
              StatusIs(kInvalid, HasSubstr("layer_types has 1 entries")));
}

TEST(MistralTest, SlidesInEveryLayer) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("mistral", {{"sliding_window", 16}}));
  for (const LayerDescription& layer : decoder.layers)
    EXPECT_EQ(layer.attention.sliding_window, 16);
}

TEST(MistralTest, TellsNullWindowFromAbsentOne) {
  Json json = SmallConfig("mistral");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription absent, DescribeSmall("mistral"));
  EXPECT_EQ(absent.layers[0].attention.sliding_window, 4096);
  json["sliding_window"] = nullptr;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig null, ParseModelConfig(json.dump()));
  EXPECT_EQ(null.decoder.layers[0].attention.sliding_window, std::nullopt);
}

TEST(MistralTest, RefusesLayerTypeThatIsNotKnown) {
  EXPECT_THAT(SmallConfigError("mistral", {{"layer_types",
                                            {"full_attention", "sliding_attention",
                                             "linear_attention", "full_attention"}}}),
              StatusIs(kUnsupported, HasSubstr("layer_types \"linear_attention\"")));
}

TEST(MixtralTest, HasRenormalizedExpertsInEveryLayer) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("mixtral"));
  for (const LayerDescription& layer : decoder.layers) {
    ASSERT_TRUE(layer.feed_forward.experts.has_value());
    EXPECT_EQ(*layer.feed_forward.experts, (ExpertsDescription{.num_experts = 4,
                                                               .num_experts_per_tok = 2,
                                                               .norm_topk_prob = true,
                                                               .num_shared_experts = 0}));
    EXPECT_EQ(layer.feed_forward.intermediate_size, 160);
    EXPECT_EQ(layer.attention.sliding_window, std::nullopt);
  }
}

TEST(MixtralTest, NamesItsExperts) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("mixtral"));
  const WeightMap map = BuildWeightMap(decoder);
  const WeightSpec* down = map.Find(WeightRole::kDownProj, 2, 3);
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->names.front(), "model.layers.2.block_sparse_moe.experts.3.w2.weight");
  EXPECT_THAT(down->shape, ElementsAre(64, 160));
  const WeightSpec* router = map.Find(WeightRole::kRouter, 0);
  ASSERT_NE(router, nullptr);
  EXPECT_THAT(router->shape, ElementsAre(4, 64));
}

TEST(MixtralTest, RefusesMoreExpertsThanThereAre) {
  EXPECT_THAT(SmallConfigError("mixtral", {{"num_experts_per_tok", 5}}),
              StatusIs(kInvalid, HasSubstr("num_experts_per_tok must be in 1 .. 4, is 5")));
  EXPECT_THAT(SmallConfigError("mixtral", {{"num_local_experts", 4096}, {"num_hidden_layers", 33}}),
              StatusIs(kInvalid, HasSubstr("of all layers together must be at most 131072")));
}

}  // namespace
}  // namespace phyllo
