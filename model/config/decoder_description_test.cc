#include "model/config/decoder_description.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/model_config.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

ModelConfig Config(ModelFamily family) {
  ModelConfig config;
  config.family = family;
  config.vocab_size = 100;
  config.hidden_size = 32;
  config.intermediate_size = 48;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 16;
  config.max_position_embeddings = 64;
  config.hidden_act = "silu";
  config.rms_norm_eps = 1e-6;
  config.layer_norm_epsilon = 1e-5;
  return config;
}

TEST(DescribeDecoderTest, DescribesLlama) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description,
                              DescribeDecoder(Config(ModelFamily::kLlama)));
  ASSERT_EQ(description.num_hidden_layers(), 2);
  EXPECT_EQ(description.norm.kind, NormKind::kRmsNorm);
  EXPECT_EQ(description.norm.eps, 1e-6f);
  EXPECT_FALSE(description.norm.bias);
  EXPECT_EQ(description.positions, PositionKind::kRope);
  EXPECT_EQ(description.embedding_scale, 1.0f);
  for (const LayerDescription& layer : description.layers) {
    EXPECT_EQ(layer.attention.rope, 0);
    EXPECT_EQ(layer.attention.qk_norm, QkNorm::kNone);
    EXPECT_EQ(layer.attention.scale, 0.25f);
    EXPECT_EQ(layer.attention.num_key_value_heads, 2);
    EXPECT_FALSE(layer.attention.q_bias || layer.attention.k_bias || layer.attention.v_bias ||
                 layer.attention.o_bias);
    EXPECT_EQ(layer.feed_forward.activation, Activation::kSilu);
    EXPECT_TRUE(layer.feed_forward.gated);
    EXPECT_EQ(layer.feed_forward.intermediate_size, 48);
    EXPECT_FALSE(layer.feed_forward.gate_bias || layer.feed_forward.up_bias ||
                 layer.feed_forward.down_bias);
  }
}

TEST(DescribeDecoderTest, ExtendsPositionsToWhatYarnScalesTo) {
  ModelConfig config = Config(ModelFamily::kQwen2);
  config.rope_parameters.rope_type = RopeType::kYarn;
  config.rope_parameters.factor = 4.0;
  config.rope_parameters.original_max_position_embeddings = 64;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription scaled, DescribeDecoder(config));
  EXPECT_EQ(scaled.max_position_embeddings, 256);
  config.rope_parameters.original_max_position_embeddings = 8;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription declared, DescribeDecoder(config));
  EXPECT_EQ(declared.max_position_embeddings, 64);
}

TEST(DescribeDecoderTest, GivesLlamaItsBiases) {
  ModelConfig config = Config(ModelFamily::kLlama);
  config.attention_bias = true;
  config.mlp_bias = true;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeDecoder(config));
  const LayerDescription& layer = description.layers[1];
  EXPECT_TRUE(layer.attention.q_bias && layer.attention.k_bias && layer.attention.v_bias &&
              layer.attention.o_bias);
  EXPECT_TRUE(layer.feed_forward.gate_bias && layer.feed_forward.up_bias &&
              layer.feed_forward.down_bias);
}

TEST(DescribeDecoderTest, GivesQwen2BiasesOnQueryKeyAndValueOnly) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description,
                              DescribeDecoder(Config(ModelFamily::kQwen2)));
  const AttentionDescription& attention = description.layers[0].attention;
  EXPECT_TRUE(attention.q_bias && attention.k_bias && attention.v_bias);
  EXPECT_FALSE(attention.o_bias);
}

TEST(DescribeDecoderTest, GivesQwen3AndMinimind3QkNorm) {
  for (const ModelFamily family : {ModelFamily::kQwen3, ModelFamily::kMinimind3}) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description,
                                DescribeDecoder(Config(family)));
    EXPECT_EQ(description.layers[1].attention.qk_norm, QkNorm::kHead) << ModelFamilyName(family);
  }
}

TEST(DescribeDecoderTest, GivesMinimind2NoQkNorm) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description,
                              DescribeDecoder(Config(ModelFamily::kMinimind2)));
  EXPECT_EQ(description.layers[0].attention.qk_norm, QkNorm::kNone);
  EXPECT_EQ(description.norm.kind, NormKind::kRmsNorm);
}

TEST(DescribeDecoderTest, DescribesGpt2) {
  ModelConfig config = Config(ModelFamily::kGpt2);
  config.hidden_act = "gelu_new";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeDecoder(config));
  EXPECT_EQ(description.norm.kind, NormKind::kLayerNorm);
  EXPECT_EQ(description.norm.eps, 1e-5f);
  EXPECT_TRUE(description.norm.bias);
  EXPECT_EQ(description.positions, PositionKind::kLearned);
  const LayerDescription& layer = description.layers[0];
  EXPECT_EQ(layer.attention.rope, std::nullopt);
  EXPECT_TRUE(layer.attention.q_bias && layer.attention.k_bias && layer.attention.v_bias &&
              layer.attention.o_bias);
  EXPECT_EQ(layer.feed_forward.activation, Activation::kGeluTanh);
  EXPECT_FALSE(layer.feed_forward.gated);
  EXPECT_FALSE(layer.feed_forward.gate_bias);
  EXPECT_TRUE(layer.feed_forward.up_bias && layer.feed_forward.down_bias);
}

TEST(DescribeDecoderTest, ScalesGpt2AttentionByLayer) {
  ModelConfig config = Config(ModelFamily::kGpt2);
  config.scale_attn_by_inverse_layer_idx = true;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeDecoder(config));
  EXPECT_EQ(description.layers[0].attention.scale, 0.25f);
  EXPECT_EQ(description.layers[1].attention.scale, 0.125f);
}

TEST(DescribeDecoderTest, LeavesGpt2ScoresUnscaledWhenAsked) {
  ModelConfig config = Config(ModelFamily::kGpt2);
  config.scale_attn_weights = false;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeDecoder(config));
  EXPECT_EQ(description.layers[1].attention.scale, 1.0f);
}

TEST(DescribeDecoderTest, KnowsActivationNames) {
  const struct {
    const char* name;
    Activation want;
  } cases[] = {{"silu", Activation::kSilu},          {"swish", Activation::kSilu},
               {"gelu", Activation::kGeluErf},       {"gelu_new", Activation::kGeluTanh},
               {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
               {"relu", Activation::kRelu}};
  for (const auto& c : cases) {
    ModelConfig config = Config(ModelFamily::kLlama);
    config.hidden_act = c.name;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeDecoder(config));
    EXPECT_EQ(description.layers[0].feed_forward.activation, c.want) << c.name;
  }
}

TEST(DescribeDecoderTest, ReturnsUnimplementedForUnknownActivation) {
  ModelConfig config = Config(ModelFamily::kLlama);
  config.hidden_act = "relu2";
  EXPECT_THAT(DescribeDecoder(config),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("hidden_act \"relu2\"")));
}

}  // namespace
}  // namespace phyllo
