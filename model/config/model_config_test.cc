#include "model/config/model_config.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/testing/small_config.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

absl::StatusOr<ModelConfig> Parse(const Json& changes) {
  return ParseModelConfig(SmallConfig("llama", changes).dump());
}

TEST(ParseModelConfigTest, ReadsWhatIsNotTheDecoder) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              Parse({{"architectures", {"LlamaForCausalLM"}},
                                     {"bos_token_id", 1},
                                     {"eos_token_id", 2},
                                     {"pad_token_id", 0},
                                     {"dtype", "bfloat16"}}));
  EXPECT_EQ(config.model_type, "llama");
  EXPECT_THAT(config.architectures, ElementsAre("LlamaForCausalLM"));
  EXPECT_EQ(config.bos_token_id, 1);
  EXPECT_THAT(config.eos_token_id, ElementsAre(2));
  EXPECT_EQ(config.pad_token_id, 0);
  EXPECT_EQ(config.dtype, DType::kBf16);
  EXPECT_THAT(config.labels, IsEmpty());
}

TEST(ParseModelConfigTest, ReadsSizes) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder, DescribeSmall("llama"));
  EXPECT_EQ(decoder.vocab_size, 512);
  EXPECT_EQ(decoder.hidden_size, 64);
  EXPECT_EQ(decoder.num_hidden_layers(), 4);
  EXPECT_EQ(decoder.max_position_embeddings, 256);
  EXPECT_EQ(decoder.layers[0].attention.num_attention_heads, 4);
  EXPECT_EQ(decoder.layers[0].attention.num_key_value_heads, 2);
  EXPECT_EQ(decoder.layers[0].attention.head_dim, 16);
}

TEST(ParseModelConfigTest, LeavesOutWhatTheFileDoesNotSay) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, Parse(Json::object()));
  EXPECT_THAT(config.architectures, IsEmpty());
  EXPECT_EQ(config.decoder.head, HeadKind::kLmHead);
  EXPECT_THAT(config.eos_token_id, IsEmpty());
  EXPECT_FALSE(config.dtype.has_value());
}

TEST(ParseModelConfigTest, ReadsSeveralEosIds) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, Parse({{"eos_token_id", {3, 1}}}));
  EXPECT_THAT(config.eos_token_id, ElementsAre(3, 1));
}

TEST(ParseModelConfigTest, TreatsMinusOneAsNoPadToken) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, Parse({{"pad_token_id", -1}}));
  EXPECT_EQ(config.pad_token_id, std::nullopt);
}

TEST(ParseModelConfigTest, KnowsActivationNames) {
  const struct {
    const char* name;
    Activation want;
  } cases[] = {{"silu", Activation::kSilu},          {"swish", Activation::kSilu},
               {"gelu", Activation::kGeluErf},       {"gelu_new", Activation::kGeluTanh},
               {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
               {"relu", Activation::kRelu}};
  for (const auto& c : cases) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                                DescribeSmall("llama", {{"hidden_act", c.name}}));
    EXPECT_EQ(decoder.layers[0].feed_forward.activation, c.want) << c.name;
  }
}

TEST(ParseModelConfigTest, TakesBareModelAsOneWithoutHead) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, Parse({{"architectures", {"LlamaModel"}},
                                                               {"tie_word_embeddings", true}}));
  EXPECT_EQ(config.decoder.head, HeadKind::kNone);
  EXPECT_FALSE(config.decoder.tie_word_embeddings);
}

const Json kClassifier = {{"architectures", {"LlamaForSequenceClassification"}}};

Json Classifier(const Json& changes) {
  Json json = kClassifier;
  json.merge_patch(changes);
  return json;
}

TEST(ParseModelConfigTest, ReadsLabelsInOrderOfTheirRows) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              Parse(Classifier({{"id2label",
                                                 {{"10", "k"},
                                                  {"0", "a"},
                                                  {"1", "b"},
                                                  {"2", "c"},
                                                  {"3", "d"},
                                                  {"4", "e"},
                                                  {"5", "f"},
                                                  {"6", "g"},
                                                  {"7", "h"},
                                                  {"8", "i"},
                                                  {"9", "j"}}},
                                                {"problem_type", "single_label_classification"}})));
  EXPECT_EQ(config.decoder.head, HeadKind::kLabels);
  EXPECT_EQ(config.decoder.num_labels, 11);
  EXPECT_THAT(config.labels, ElementsAre("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"));
  EXPECT_EQ(config.problem_type, "single_label_classification");
}

TEST(ParseModelConfigTest, NamesLabelsThatHaveNoName) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig counted, Parse(Classifier({{"num_labels", 1}})));
  EXPECT_THAT(counted.labels, ElementsAre("LABEL_0"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig absent, Parse(kClassifier));
  EXPECT_THAT(absent.labels, ElementsAre("LABEL_0", "LABEL_1"));  // the reference's default
}

TEST(ParseModelConfigTest, RefusesLabelsThatDoNotFit) {
  constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Parse(Classifier({{"id2label", {{"0", "a"}, {"2", "c"}}}})),
              StatusIs(kInvalid, HasSubstr("id2label: label 1 is missing")));
  EXPECT_THAT(Parse(Classifier({{"id2label", {{"0", "a"}}}, {"num_labels", 3}})),
              StatusIs(kInvalid, HasSubstr("id2label has 1 entries, num_labels is 3")));
  EXPECT_THAT(Parse(Classifier({{"id2label", Json::object()}, {"num_labels", 3}})),
              StatusIs(kInvalid, HasSubstr("id2label has 0 entries")));
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
  EXPECT_THAT(ParseModelConfig(GetParam().json.dump()),
              StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;

INSTANTIATE_TEST_SUITE_P(
    Values, BadConfigTest,
    ::testing::Values(
        BadConfig{"NoModelType", SmallConfig("llama", {{"model_type", nullptr}}), kInvalid,
                  "model_type is missing"},
        BadConfig{"NoHiddenSize", SmallConfig("llama", {{"hidden_size", nullptr}}), kInvalid,
                  "hidden_size is missing"},
        BadConfig{"NoEps", SmallConfig("llama", {{"rms_norm_eps", nullptr}}), kInvalid,
                  "rms_norm_eps is missing"},
        BadConfig{"NoAct", SmallConfig("llama", {{"hidden_act", nullptr}}), kInvalid,
                  "hidden_act is missing"},
        BadConfig{"ZeroLayers", SmallConfig("llama", {{"num_hidden_layers", 0}}), kInvalid,
                  "num_hidden_layers must be in 1 .. 4096, is 0"},
        BadConfig{"NegativeHidden", SmallConfig("llama", {{"hidden_size", -64}}), kInvalid,
                  "hidden_size must be in 1 .. 1048576, is -64"},
        BadConfig{"HugeVocab", SmallConfig("llama", {{"vocab_size", 18446744073709551615u}}),
                  kInvalid, "is 18446744073709551615"},
        BadConfig{"HugeFloatVocab", SmallConfig("llama", {{"vocab_size", 1e300}}), kInvalid,
                  "vocab_size must be an integer"},
        BadConfig{"FractionHidden", SmallConfig("llama", {{"hidden_size", 64.5}}), kInvalid,
                  "hidden_size must be an integer, is 64.5"},
        BadConfig{"TextHidden", SmallConfig("llama", {{"hidden_size", "64"}}), kInvalid,
                  "hidden_size must be an integer, is \"64\""},
        BadConfig{"ObjectHidden", SmallConfig("llama", {{"hidden_size", {{"a", 1}}}}), kInvalid,
                  "is an object of 1"},
        BadConfig{"TextEps", SmallConfig("llama", {{"rms_norm_eps", "1e-5"}}), kInvalid,
                  "rms_norm_eps must be a number"},
        BadConfig{"NegativeEps", SmallConfig("llama", {{"rms_norm_eps", -1e-5}}), kInvalid,
                  "rms_norm_eps must be in 0 .. 1"},
        BadConfig{"NumberBool", SmallConfig("llama", {{"tie_word_embeddings", 1}}), kInvalid,
                  "tie_word_embeddings must be true or false"},
        BadConfig{"HeadsDoNotDivide",
                  SmallConfig("llama", {{"num_attention_heads", 5},
                                        {"num_key_value_heads", 5},
                                        {"head_dim", nullptr}}),
                  kInvalid, "num_attention_heads 5 does not divide hidden_size 64"},
        BadConfig{"KvHeadsDoNotDivide", SmallConfig("llama", {{"num_key_value_heads", 3}}),
                  kInvalid, "num_key_value_heads 3 does not divide"},
        BadConfig{"MoreKvHeads", SmallConfig("llama", {{"num_key_value_heads", 8}}), kInvalid,
                  "num_key_value_heads 8 does not divide"},
        BadConfig{"OddHeadDim", SmallConfig("llama", {{"head_dim", 15}}), kInvalid,
                  "head_dim must be even for RoPE, is 15"},
        BadConfig{"HugeHeads",
                  SmallConfig("llama", {{"num_attention_heads", 65536},
                                        {"num_key_value_heads", 1},
                                        {"head_dim", 1024}}),
                  kInvalid, "num_attention_heads * head_dim must be at most"},
        BadConfig{"EosOutside", SmallConfig("llama", {{"eos_token_id", 512}}), kInvalid,
                  "eos_token_id must be in 0 .. 511, is 512"},
        BadConfig{"EosText", SmallConfig("llama", {{"eos_token_id", {1, "2"}}}), kInvalid,
                  "eos_token_id must be an integer"},
        BadConfig{"ArchitectureNotList",
                  SmallConfig("llama", {{"architectures", "LlamaForCausalLM"}}), kInvalid,
                  "must be a list of strings"},
        BadConfig{"DTypesDiffer",
                  SmallConfig("llama", {{"dtype", "float16"}, {"torch_dtype", "bfloat16"}}),
                  kInvalid, "dtype and torch_dtype differ"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Unsupported, BadConfigTest,
    ::testing::Values(
        BadConfig{"ModelType",
                  SmallConfig("llama",
                              {{"model_type", "mamba"}, {"architectures", {"MambaForCausalLM"}}}),
                  kUnsupported,
                  "model_type \"mamba\" is not supported (architectures: MambaForCausalLM); "
                  "supported: cohere, gemma"},
        BadConfig{"Architecture",
                  SmallConfig("llama", {{"architectures", {"LlamaForTokenClassification"}}}),
                  kUnsupported, "architecture \"LlamaForTokenClassification\" is not supported"},
        BadConfig{"OtherFamily", SmallConfig("llama", {{"architectures", {"Qwen2ForCausalLM"}}}),
                  kUnsupported, "architecture \"Qwen2ForCausalLM\" is not supported"},
        BadConfig{"EmptyArchitecture", SmallConfig("llama", {{"architectures", {""}}}),
                  kUnsupported, "architecture \"\""},
        BadConfig{"Activation", SmallConfig("llama", {{"hidden_act", "relu2"}}), kUnsupported,
                  "hidden_act \"relu2\""},
        BadConfig{"Quantized", SmallConfig("llama", {{"quantization_config", {{"bits", 4}}}}),
                  kUnsupported, "quantization_config: quantized checkpoints"},
        BadConfig{"Vision", SmallConfig("gemma3", {{"vision_config", {{"hidden_size", 4}}}}),
                  kUnsupported, "vision_config: models with towers"},
        BadConfig{"EncoderDecoder", SmallConfig("t5", {{"is_encoder_decoder", true}}), kUnsupported,
                  "is_encoder_decoder true"}),
    [](const auto& info) { return info.param.name; });

TEST(ParseModelConfigTest, CutsLongValuesInMessages) {
  const absl::Status status =
      SmallConfigError("llama", {{"hidden_size", std::string(100000, 'x')}});
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
