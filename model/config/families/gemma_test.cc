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

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;

TEST(GemmaTest, AddsOneToNormsAndScalesEmbeddings) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("gemma", {{"hidden_act", "gelu_pytorch_tanh"}}));
  EXPECT_EQ(decoder.norm.weight_offset, 1.0f);
  EXPECT_EQ(decoder.embedding_scale, 8.0f);
  EXPECT_TRUE(decoder.tie_word_embeddings);
  EXPECT_FALSE(decoder.layers[0].attention_output_norm);
}

TEST(GemmaTest, ComputesTheApproximationForGelu) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription first,
                              DescribeSmall("gemma", {{"hidden_act", "gelu"}}));
  EXPECT_EQ(first.layers[0].feed_forward.activation, Activation::kGeluTanh);
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription later,
      DescribeSmall("gemma", {{"hidden_act", "gelu"}, {"hidden_activation", "relu"}}));
  EXPECT_EQ(later.layers[0].feed_forward.activation, Activation::kRelu);
}

TEST(Gemma2Test, AlternatesWindowsAndHasFourNorms) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("gemma2", {{"sliding_window", 16}}));
  EXPECT_EQ(decoder.layers[0].attention.sliding_window, 16);
  EXPECT_EQ(decoder.layers[1].attention.sliding_window, std::nullopt);
  EXPECT_EQ(decoder.layers[0].attention.scale, 0.0625f);  // 256^-0.5
  EXPECT_EQ(decoder.layers[0].feed_forward.activation, Activation::kGeluTanh);
  EXPECT_TRUE(decoder.layers[3].attention_output_norm &&
              decoder.layers[3].feed_forward_output_norm);
  const WeightMap map = BuildWeightMap(decoder);
  EXPECT_EQ(map.Find(WeightRole::kFeedForwardNorm, 0)->names.front(),
            "model.layers.0.pre_feedforward_layernorm.weight");
  EXPECT_EQ(map.Find(WeightRole::kAttentionOutputNorm, 0)->names.front(),
            "model.layers.0.post_attention_layernorm.weight");
}

TEST(Gemma2Test, CapsScoresAndLogits) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription absent, DescribeSmall("gemma2"));
  EXPECT_EQ(absent.layers[0].attention.soft_cap, 50.0f);
  EXPECT_EQ(absent.logits_soft_cap, 30.0f);
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription given,
      DescribeSmall("gemma2", {{"attn_logit_softcapping", 3.0}, {"final_logit_softcapping", 4.0}}));
  EXPECT_EQ(given.layers[0].attention.soft_cap, 3.0f);
  EXPECT_EQ(given.logits_soft_cap, 4.0f);
  Json json = SmallConfig("gemma2");
  json["attn_logit_softcapping"] = nullptr;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig null, ParseModelConfig(json.dump()));
  EXPECT_EQ(null.decoder.layers[0].attention.soft_cap, 0.0f);
}

TEST(Gemma3Test, RotatesSlidingLayersWithABaseOfTheirOwn) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("gemma3_text", {{"sliding_window_pattern", 2},
                                    {"sliding_window", 12},
                                    {"rope_theta", 1e6},
                                    {"rope_local_base_freq", 2e4},
                                    {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}}));
  ASSERT_EQ(decoder.ropes.size(), 2);
  EXPECT_EQ(decoder.ropes[0].parameters.rope_type, RopeType::kLinear);
  EXPECT_EQ(decoder.ropes[0].parameters.rope_theta, 1e6);
  EXPECT_EQ(decoder.ropes[1].parameters.rope_type, RopeType::kDefault);
  EXPECT_EQ(decoder.ropes[1].parameters.rope_theta, 2e4);
  EXPECT_EQ(decoder.layers[0].attention.rope, 1);
  EXPECT_EQ(decoder.layers[0].attention.sliding_window, 12);
  EXPECT_EQ(decoder.layers[1].attention.rope, 0);
  EXPECT_EQ(decoder.layers[1].attention.sliding_window, std::nullopt);
  EXPECT_EQ(decoder.layers[0].attention.qk_norm, QkNorm::kHead);
  EXPECT_EQ(decoder.logits_soft_cap, 0.0f);
}

TEST(Gemma3Test, ReadsNestedRopeParameters) {
  const Json nested = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 3e5}}},
                       {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 3e4}}}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("gemma3_text", {{"rope_theta", nullptr}, {"rope_parameters", nested}}));
  EXPECT_EQ(decoder.ropes[0].parameters.rope_theta, 3e5);
  EXPECT_EQ(decoder.ropes[1].parameters.rope_theta, 3e4);
}

TEST(Gemma3Test, RefusesAttentionInBothDirections) {
  EXPECT_THAT(SmallConfigError("gemma3_text", {{"use_bidirectional_attention", true}}),
              StatusIs(kUnsupported, HasSubstr("use_bidirectional_attention true")));
}

}  // namespace
}  // namespace phyllo
