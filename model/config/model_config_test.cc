#include "model/config/model_config.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

std::string ReadGolden(const std::string& model, const std::string& file) {
  std::ifstream stream(absl::StrCat("tests/golden/data/models/", model, "/", file),
                       std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// A valid Llama config, with members replaced; a null removes the member.
Json Llama(const Json& changes = Json::object()) {
  Json json = {{"model_type", "llama"},
               {"architectures", {"LlamaForCausalLM"}},
               {"vocab_size", 512},
               {"hidden_size", 64},
               {"intermediate_size", 160},
               {"num_hidden_layers", 3},
               {"num_attention_heads", 4},
               {"num_key_value_heads", 2},
               {"max_position_embeddings", 256},
               {"rms_norm_eps", 1e-5},
               {"hidden_act", "silu"},
               {"rope_theta", 10000.0}};
  json.merge_patch(changes);
  return json;
}

Json Minimind2(const Json& changes = Json::object()) {
  Json base = {{"model_type", "minimind"},
               {"architectures", nullptr},
               {"n_routed_experts", 4},
               {"use_moe", false}};
  Json json = Llama(base);
  json.merge_patch(changes);
  return json;
}

Json Gpt2(const Json& changes = Json::object()) {
  Json json = {{"model_type", "gpt2"},
               {"vocab_size", 300},
               {"n_embd", 60},
               {"n_head", 5},
               {"n_layer", 2},
               {"n_positions", 160},
               {"layer_norm_epsilon", 1e-5}};
  json.merge_patch(changes);
  return json;
}

// The first error of that config.
absl::Status Error(const Json& json) { return ParseModelConfig(json.dump()).status(); }

void ExpectSame(const ModelConfig& a, const ModelConfig& b) {
  EXPECT_EQ(a.family, b.family);
  EXPECT_EQ(a.vocab_size, b.vocab_size);
  EXPECT_EQ(a.hidden_size, b.hidden_size);
  EXPECT_EQ(a.intermediate_size, b.intermediate_size);
  EXPECT_EQ(a.num_hidden_layers, b.num_hidden_layers);
  EXPECT_EQ(a.num_attention_heads, b.num_attention_heads);
  EXPECT_EQ(a.num_key_value_heads, b.num_key_value_heads);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.max_position_embeddings, b.max_position_embeddings);
  EXPECT_EQ(a.hidden_act, b.hidden_act);
  EXPECT_EQ(a.rms_norm_eps, b.rms_norm_eps);
  EXPECT_EQ(a.layer_norm_epsilon, b.layer_norm_epsilon);
  EXPECT_EQ(a.attention_bias, b.attention_bias);
  EXPECT_EQ(a.mlp_bias, b.mlp_bias);
  EXPECT_EQ(a.tie_word_embeddings, b.tie_word_embeddings);
  EXPECT_EQ(a.eos_token_id, b.eos_token_id);
  EXPECT_EQ(a.bos_token_id, b.bos_token_id);
  EXPECT_EQ(a.pad_token_id, b.pad_token_id);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.rope_parameters.rope_type, b.rope_parameters.rope_type);
  EXPECT_EQ(a.rope_parameters.rope_theta, b.rope_parameters.rope_theta);
  EXPECT_EQ(a.rope_parameters.factor, b.rope_parameters.factor);
  EXPECT_EQ(a.rope_parameters.original_max_position_embeddings,
            b.rope_parameters.original_max_position_embeddings);
  EXPECT_EQ(a.rope_parameters.low_freq_factor, b.rope_parameters.low_freq_factor);
  EXPECT_EQ(a.rope_parameters.high_freq_factor, b.rope_parameters.high_freq_factor);
  EXPECT_EQ(a.rope_parameters.beta_fast, b.rope_parameters.beta_fast);
  EXPECT_EQ(a.rope_parameters.beta_slow, b.rope_parameters.beta_slow);
  EXPECT_EQ(a.rope_parameters.truncate, b.rope_parameters.truncate);
  EXPECT_EQ(a.rope_parameters.mscale, b.rope_parameters.mscale);
  EXPECT_EQ(a.rope_parameters.mscale_all_dim, b.rope_parameters.mscale_all_dim);
}

class BothKeyStylesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BothKeyStylesTest, GiveTheSameConfig) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig v5,
                              ParseModelConfig(ReadGolden(GetParam(), "config.json")));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig v4,
                              ParseModelConfig(ReadGolden(GetParam(), "config_v4.json")));
  ExpectSame(v5, v4);
}

INSTANTIATE_TEST_SUITE_P(Golden, BothKeyStylesTest,
                         ::testing::Values("gpt2", "gpt2-hub", "llama-bias", "llama-d256",
                                           "llama-dynamic", "llama-f16", "llama-gqa",
                                           "llama-linear", "llama-mha", "llama-mqa-headdim",
                                           "llama-sharded", "llama-yarn", "llama-yarn-mscale",
                                           "llama3-rope", "qwen2", "qwen3", "stories260K"));

TEST(ParseModelConfigTest, ReadsEveryValueOfQwen3) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(ReadGolden("qwen3", "config.json")));
  EXPECT_EQ(config.family, ModelFamily::kQwen3);
  EXPECT_EQ(config.model_type, "qwen3");
  EXPECT_THAT(config.architectures, ElementsAre("Qwen3ForCausalLM"));
  EXPECT_EQ(config.vocab_size, 512);
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.intermediate_size, 160);
  EXPECT_EQ(config.num_hidden_layers, 3);
  EXPECT_EQ(config.num_attention_heads, 4);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.head_dim, 24);
  EXPECT_EQ(config.max_position_embeddings, 256);
  EXPECT_EQ(config.hidden_act, "silu");
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.rope_parameters.rope_theta, 1e6);
  EXPECT_EQ(config.rope_parameters.rope_type, RopeType::kDefault);
  EXPECT_FALSE(config.attention_bias);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(config.bos_token_id, 1);
  EXPECT_THAT(config.eos_token_id, ElementsAre(2));
  EXPECT_EQ(config.pad_token_id, 0);
  EXPECT_EQ(config.dtype, DType::kBf16);
}

TEST(ParseModelConfigTest, ReadsGpt2Names) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(ReadGolden("gpt2", "config.json")));
  EXPECT_EQ(config.family, ModelFamily::kGpt2);
  EXPECT_EQ(config.hidden_size, 60);
  EXPECT_EQ(config.intermediate_size, 240);
  EXPECT_EQ(config.num_attention_heads, 5);
  EXPECT_EQ(config.num_key_value_heads, 5);
  EXPECT_EQ(config.head_dim, 12);
  EXPECT_EQ(config.max_position_embeddings, 160);
  EXPECT_EQ(config.hidden_act, "gelu_new");
  EXPECT_EQ(config.layer_norm_epsilon, 1e-5);
  EXPECT_TRUE(config.tie_word_embeddings);
}

TEST(ParseModelConfigTest, DerivesWhatMinimindSeedLeavesOut) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(ReadGolden("minimind-seed", "config.json")));
  EXPECT_EQ(config.family, ModelFamily::kMinimind2);
  EXPECT_EQ(config.intermediate_size, 192);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_THAT(config.architectures, IsEmpty());
}

TEST(ParseModelConfigTest, DerivesIntermediateSizeOfMinimind3) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(Llama({{"model_type", "minimind"},
                                                      {"architectures", nullptr},
                                                      {"num_experts", 4},
                                                      {"hidden_size", 768},
                                                      {"intermediate_size", nullptr}})
                                                   .dump()));
  EXPECT_EQ(config.family, ModelFamily::kMinimind3);
  EXPECT_EQ(config.intermediate_size, 2432);  // 64 * ceil(37.699)
}

TEST(ParseModelConfigTest, TellsTheTwoMinimindYarnFormulasApart) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig seed,
                              ParseModelConfig(ReadGolden("minimind-seed-yarn", "config.json")));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig v2,
                              ParseModelConfig(ReadGolden("minimind2-yarn", "config.json")));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig v3,
                              ParseModelConfig(ReadGolden("minimind3-yarn", "config.json")));
  EXPECT_EQ(seed.rope_parameters.rope_type, RopeType::kMinimindFirstYarn);
  EXPECT_EQ(seed.rope_parameters.factor, 4.0);
  EXPECT_EQ(seed.rope_parameters.beta_fast, 4.0);
  EXPECT_EQ(v2.rope_parameters.rope_type, RopeType::kMinimindYarn);
  EXPECT_EQ(v3.rope_parameters.rope_type, RopeType::kMinimindYarn);
  EXPECT_EQ(v3.rope_parameters.factor, 16.0);
  EXPECT_EQ(v3.rope_parameters.rope_theta, 1e6);
  EXPECT_EQ(v3.rope_parameters.attention_factor, 1.0);
}

TEST(ParseModelConfigTest, DoesNotScaleMinimindWithinOriginalLength) {
  const Json yarn = {{"type", "yarn"},
                     {"factor", 16},
                     {"attention_factor", 1.0},
                     {"original_max_position_embeddings", 2048}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(Minimind2({{"inference_rope_scaling", true},
                                                          {"rope_scaling", yarn},
                                                          {"max_position_embeddings", 2048}})
                                                   .dump()));
  EXPECT_EQ(config.rope_parameters.rope_type, RopeType::kDefault);
}

TEST(ParseModelConfigTest, LetsTheFlagDecideOverMinimindsDictionary) {
  const Json yarn = {{"type", "yarn"}, {"factor", 16}, {"attention_factor", 1.0}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(Minimind2({{"inference_rope_scaling", false},
                                                          {"rope_scaling", yarn},
                                                          {"max_position_embeddings", 32768}})
                                                   .dump()));
  EXPECT_EQ(config.rope_parameters.rope_type, RopeType::kDefault);
}

TEST(ParseModelConfigTest, ReturnsInvalidArgumentWhenMinimind2YarnFormulaIsUnknown) {
  EXPECT_THAT(Error(Minimind2({{"inference_rope_scaling", true}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("inference_rope_scaling needs rope_scaling")));
}

TEST(ParseModelConfigTest, ReturnsInvalidArgumentWhenMinimindGenerationIsUnknown) {
  EXPECT_THAT(Error(Minimind2({{"n_routed_experts", nullptr}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("n_routed_experts (MiniMind2) or num_experts")));
}

TEST(ParseModelConfigTest, TakesLlamaDefaults) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const ModelConfig config,
      ParseModelConfig(Llama({{"num_key_value_heads", nullptr}, {"rope_theta", nullptr}}).dump()));
  EXPECT_EQ(config.num_key_value_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.rope_parameters.rope_theta, 10000.0);
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_FALSE(config.dtype.has_value());
}

TEST(ParseModelConfigTest, ReadsSeveralEosIds) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(Llama({{"eos_token_id", {3, 1}}}).dump()));
  EXPECT_THAT(config.eos_token_id, ElementsAre(3, 1));
}

TEST(ParseModelConfigTest, ReadsOldRopeScalingType) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const ModelConfig config,
      ParseModelConfig(Llama({{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}).dump()));
  EXPECT_EQ(config.rope_parameters.rope_type, RopeType::kLinear);
  EXPECT_EQ(config.rope_parameters.factor, 4.0);
}

TEST(ParseModelConfigTest, TreatsMinusOneAsNoPadToken) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(Llama({{"pad_token_id", -1}}).dump()));
  EXPECT_EQ(config.pad_token_id, std::nullopt);
}

TEST(ParseModelConfigTest, ReadsGpt2AttentionScaling) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const ModelConfig config,
      ParseModelConfig(
          Gpt2({{"scale_attn_weights", false}, {"scale_attn_by_inverse_layer_idx", true}}).dump()));
  EXPECT_FALSE(config.scale_attn_weights);
  EXPECT_TRUE(config.scale_attn_by_inverse_layer_idx);
}

// A config, the code of its error and what the message must say.
struct BadConfig {
  std::string name;
  Json json;
  absl::StatusCode code;
  std::string message;
};

class BadConfigTest : public ::testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, IsRefusedByName) {
  EXPECT_THAT(Error(GetParam().json), StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;

INSTANTIATE_TEST_SUITE_P(
    Values, BadConfigTest,
    ::testing::Values(
        BadConfig{"NoModelType", Llama({{"model_type", nullptr}}), kInvalid,
                  "model_type is missing"},
        BadConfig{"NoHiddenSize", Llama({{"hidden_size", nullptr}}), kInvalid,
                  "hidden_size is missing"},
        BadConfig{"NoEps", Llama({{"rms_norm_eps", nullptr}}), kInvalid, "rms_norm_eps is missing"},
        BadConfig{"NoAct", Llama({{"hidden_act", nullptr}}), kInvalid, "hidden_act is missing"},
        BadConfig{"ZeroLayers", Llama({{"num_hidden_layers", 0}}), kInvalid,
                  "num_hidden_layers must be in 1 .. 4096, is 0"},
        BadConfig{"NegativeHidden", Llama({{"hidden_size", -64}}), kInvalid,
                  "hidden_size must be in 1 .. 1048576, is -64"},
        BadConfig{"HugeVocab", Llama({{"vocab_size", 18446744073709551615u}}), kInvalid,
                  "is 18446744073709551615"},
        BadConfig{"HugeFloatVocab", Llama({{"vocab_size", 1e300}}), kInvalid,
                  "vocab_size must be an integer"},
        BadConfig{"FractionHidden", Llama({{"hidden_size", 64.5}}), kInvalid,
                  "hidden_size must be an integer, is 64.5"},
        BadConfig{"TextHidden", Llama({{"hidden_size", "64"}}), kInvalid,
                  "hidden_size must be an integer, is \"64\""},
        BadConfig{"ObjectHidden", Llama({{"hidden_size", {{"a", 1}}}}), kInvalid,
                  "is an object of 1"},
        BadConfig{"TextEps", Llama({{"rms_norm_eps", "1e-5"}}), kInvalid,
                  "rms_norm_eps must be a number"},
        BadConfig{"NegativeEps", Llama({{"rms_norm_eps", -1e-5}}), kInvalid,
                  "rms_norm_eps must be in 0 .. 1"},
        BadConfig{"NumberBool", Llama({{"tie_word_embeddings", 1}}), kInvalid,
                  "tie_word_embeddings must be true or false"},
        BadConfig{"HeadsDoNotDivide",
                  Llama({{"num_attention_heads", 5}, {"num_key_value_heads", 5}}), kInvalid,
                  "num_attention_heads 5 does not divide hidden_size 64"},
        BadConfig{"KvHeadsDoNotDivide", Llama({{"num_key_value_heads", 3}}), kInvalid,
                  "num_key_value_heads 3 does not divide"},
        BadConfig{"MoreKvHeads", Llama({{"num_key_value_heads", 8}}), kInvalid,
                  "num_key_value_heads 8 does not divide"},
        BadConfig{"OddHeadDim", Llama({{"head_dim", 15}}), kInvalid,
                  "head_dim must be even for RoPE, is 15"},
        BadConfig{
            "HugeHeads",
            Llama({{"num_attention_heads", 65536}, {"num_key_value_heads", 1}, {"head_dim", 1024}}),
            kInvalid, "num_attention_heads * head_dim must be at most"},
        BadConfig{"EosOutside", Llama({{"eos_token_id", 512}}), kInvalid,
                  "eos_token_id must be in 0 .. 511, is 512"},
        BadConfig{"EosText", Llama({{"eos_token_id", {1, "2"}}}), kInvalid,
                  "eos_token_id must be an integer"},
        BadConfig{"ArchitectureNotList", Llama({{"architectures", "LlamaForCausalLM"}}), kInvalid,
                  "must be a list of strings"},
        BadConfig{"DTypesDiffer", Llama({{"dtype", "float16"}, {"torch_dtype", "bfloat16"}}),
                  kInvalid, "dtype and torch_dtype differ"},
        BadConfig{"LayerTypesCount", Llama({{"layer_types", {"full_attention"}}}), kInvalid,
                  "layer_types has 1 entries"},
        BadConfig{"Qwen3NoHeadDim", Llama({{"model_type", "qwen3"}, {"architectures", nullptr}}),
                  kInvalid, "head_dim is missing"},
        BadConfig{
            "Qwen2NoTheta",
            Llama({{"model_type", "qwen2"}, {"architectures", nullptr}, {"rope_theta", nullptr}}),
            kInvalid, "rope_theta is missing"},
        BadConfig{"Qwen2NoKvHeads",
                  Llama({{"model_type", "qwen2"},
                         {"architectures", nullptr},
                         {"num_key_value_heads", nullptr}}),
                  kInvalid, "num_key_value_heads is missing"},
        BadConfig{"Gpt2Heads", Gpt2({{"n_head", 7}}), kInvalid,
                  "n_head 7 does not divide n_embd 60"},
        BadConfig{"Gpt2NoPositions", Gpt2({{"n_positions", nullptr}}), kInvalid,
                  "n_positions is missing"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Rope, BadConfigTest,
    ::testing::Values(
        BadConfig{"ThetaOne", Llama({{"rope_theta", 1.0}}), kInvalid, "rope_theta must be over 1"},
        BadConfig{"TwoThetas", Llama({{"rope_parameters", {{"rope_theta", 5e5}}}}), kInvalid,
                  "rope_theta has two values"},
        BadConfig{
            "TwoTypes",
            Llama({{"rope_scaling", {{"type", "linear"}, {"rope_type", "yarn"}, {"factor", 2}}}}),
            kInvalid, "type has two values, yarn and linear"},
        BadConfig{"NoFactor", Llama({{"rope_scaling", {{"type", "linear"}}}}), kInvalid,
                  "factor is missing"},
        BadConfig{"SmallFactor", Llama({{"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}}}),
                  kInvalid, "factor must be in 1"},
        BadConfig{"NoType", Llama({{"rope_scaling", {{"factor", 2}}}}), kInvalid,
                  "has a factor and no rope_type"},
        BadConfig{"NotObject", Llama({{"rope_scaling", "linear"}}), kInvalid,
                  "rope_scaling must be an object"},
        BadConfig{"Llama3NoBands",
                  Llama({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}}}), kInvalid,
                  "low_freq_factor is missing"},
        BadConfig{"Llama3Bands",
                  Llama({{"rope_scaling",
                          {{"rope_type", "llama3"},
                           {"factor", 8},
                           {"low_freq_factor", 4},
                           {"high_freq_factor", 4}}}}),
                  kInvalid, "high_freq_factor must be over low_freq_factor"},
        BadConfig{
            "YarnBetas",
            Llama({{"rope_scaling",
                    {{"rope_type", "yarn"}, {"factor", 8}, {"beta_fast", 1}, {"beta_slow", 2}}}}),
            kInvalid, "beta_fast must not be under beta_slow"},
        BadConfig{"FractionOriginal",
                  Llama({{"rope_scaling",
                          {{"rope_type", "yarn"},
                           {"factor", 8},
                           {"original_max_position_embeddings", 64.5}}}}),
                  kInvalid, "must be whole"},
        BadConfig{"Longrope", Llama({{"rope_scaling", {{"type", "longrope"}, {"factor", 2}}}}),
                  kUnsupported, "rope_type \"longrope\" is not supported"},
        BadConfig{"UnknownKey",
                  Llama({{"rope_scaling", {{"type", "default"}, {"mrope_section", {1, 2}}}}}),
                  kUnsupported, "option mrope_section is not supported"},
        BadConfig{"Partial", Llama({{"partial_rotary_factor", 0.5}}), kUnsupported,
                  "partial_rotary_factor 0.5"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Unsupported, BadConfigTest,
    ::testing::Values(
        BadConfig{"Mistral",
                  Llama({{"model_type", "mistral"}, {"architectures", {"MistralForCausalLM"}}}),
                  kUnsupported,
                  "model_type \"mistral\" is not supported (architectures: MistralForCausalLM); "
                  "supported: gpt2, llama"},
        BadConfig{"Classifier", Llama({{"architectures", {"LlamaForSequenceClassification"}}}),
                  kUnsupported, "architecture \"LlamaForSequenceClassification\" is not supported"},
        BadConfig{"EmptyArchitecture", Llama({{"architectures", {""}}}), kUnsupported,
                  "architecture \"\""},
        BadConfig{"SlidingWindow", Llama({{"use_sliding_window", true}}), kUnsupported,
                  "use_sliding_window true"},
        BadConfig{
            "SlidingLayers",
            Llama({{"layer_types", {"full_attention", "sliding_attention", "full_attention"}}}),
            kUnsupported, "layer_types \"sliding_attention\""},
        BadConfig{"Quantized", Llama({{"quantization_config", {{"bits", 4}}}}), kUnsupported,
                  "quantization_config"},
        BadConfig{"Experts", Llama({{"num_local_experts", 8}}), kUnsupported,
                  "num_local_experts: experts"},
        BadConfig{"MinimindMoe", Minimind2({{"use_moe", true}}), kUnsupported, "use_moe true"},
        BadConfig{"Minimind1", Minimind2({{"dim", 64}}), kUnsupported,
                  "first generation of MiniMind"},
        BadConfig{"MlpBias",
                  Llama({{"model_type", "qwen2"}, {"architectures", nullptr}, {"mlp_bias", true}}),
                  kUnsupported, "mlp_bias"},
        BadConfig{"CrossAttention", Gpt2({{"add_cross_attention", true}}), kUnsupported,
                  "add_cross_attention true"}),
    [](const auto& info) { return info.param.name; });

TEST(ParseModelConfigTest, CutsLongValuesInMessages) {
  const absl::Status status = Error(Llama({{"hidden_size", std::string(100000, 'x')}}));
  EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("xxx...")));
  EXPECT_LT(status.message().size(), 200);
}

TEST(ParseModelConfigTest, ReturnsInvalidArgumentForHostileText) {
  const std::vector<std::string> hostile = {"",
                                            "nul",
                                            "{\"hidden_size\": 1e400}",
                                            "{\"hidden_size\": NaN}",
                                            "[]",
                                            std::string(1 << 20, '['),
                                            "{\"a\":" + std::string(1 << 20, '{')};
  for (const std::string& text : hostile)
    EXPECT_THAT(ParseModelConfig(text), StatusIs(kInvalid)) << text.substr(0, 20);
}

}  // namespace
}  // namespace phyllo
