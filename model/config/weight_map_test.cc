#include "model/config/weight_map.h"

#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/testing/small_config.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One layer, d = 4, two heads of 2, one key/value head, intermediate_size 6, vocab_size 5, tied.
DecoderDescription Tiny(const std::string& model_type) {
  nlohmann::json changes = {
      {"vocab_size", 5},        {"hidden_size", 4},           {"intermediate_size", 6},
      {"num_hidden_layers", 1}, {"num_attention_heads", 2},   {"num_key_value_heads", 1},
      {"head_dim", 2},          {"tie_word_embeddings", true}};
  if (model_type == "minimind") {
    changes["num_experts"] = nullptr;
    changes["n_routed_experts"] = 4;
  }
  return *DescribeSmall(model_type, changes);
}

// A checkpoint folder that a test writes.
class WeightMapTest : public ::testing::Test {
 protected:
  using Declarations = std::vector<TensorDeclaration>;

  static Declarations TinyLlama() {
    return {{"model.embed_tokens.weight", DType::kF32, {5, 4}},
            {"model.layers.0.input_layernorm.weight", DType::kF32, {4}},
            {"model.layers.0.self_attn.q_proj.weight", DType::kF32, {4, 4}},
            {"model.layers.0.self_attn.k_proj.weight", DType::kF32, {2, 4}},
            {"model.layers.0.self_attn.v_proj.weight", DType::kF32, {2, 4}},
            {"model.layers.0.self_attn.o_proj.weight", DType::kF32, {4, 4}},
            {"model.layers.0.post_attention_layernorm.weight", DType::kF32, {4}},
            {"model.layers.0.mlp.gate_proj.weight", DType::kF32, {6, 4}},
            {"model.layers.0.mlp.up_proj.weight", DType::kF32, {6, 4}},
            {"model.layers.0.mlp.down_proj.weight", DType::kF32, {4, 6}},
            {"model.norm.weight", DType::kF32, {4}}};
  }

  // Every tensor's bytes are its index in the list.
  std::unique_ptr<Checkpoint> Write(const Declarations& tensors) {
    const std::string folder = absl::StrCat(
        ::testing::TempDir(), "/", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    mkdir(folder.c_str(), 0700);
    std::ofstream stream(absl::StrCat(folder, "/model.safetensors"), std::ios::binary);
    stream << SafetensorsHeader(tensors);
    for (size_t i = 0; i < tensors.size(); ++i) {
      int64_t bytes = ByteSize(tensors[i].dtype);
      for (const int64_t size : tensors[i].shape) bytes *= size;
      stream << std::string(bytes, static_cast<char>(i));
    }
    stream.close();
    return *Checkpoint::Open(folder);
  }

  absl::Status CheckLlama(const Declarations& tensors) {
    const std::unique_ptr<Checkpoint> checkpoint = Write(tensors);
    return CheckTensors(BuildWeightMap(Tiny("llama")), *checkpoint);
  }
};

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST_F(WeightMapTest, AcceptsExactCheckpoint) { PHYLLO_EXPECT_OK(CheckLlama(TinyLlama())); }

TEST_F(WeightMapTest, NamesMissingTensor) {
  Declarations tensors = TinyLlama();
  tensors.pop_back();
  EXPECT_THAT(CheckLlama(tensors),
              StatusIs(kInvalid, HasSubstr("tensor \"model.norm.weight\" is missing")));
}

TEST_F(WeightMapTest, NamesEveryFault) {
  Declarations tensors = TinyLlama();
  tensors[2].shape = {4, 5};
  tensors[7].dtype = DType::kF64;
  tensors[10].name = "model.norm.wight";
  EXPECT_THAT(CheckLlama(tensors),
              StatusIs(kInvalid, AllOf(HasSubstr("\"model.layers.0.self_attn.q_proj.weight\" has "
                                                 "shape [4, 5], the config needs [4, 4]"),
                                       HasSubstr("\"model.layers.0.mlp.gate_proj.weight\" has "
                                                 "dtype F64, weights are F32, F16 or BF16"),
                                       HasSubstr("\"model.norm.weight\" is missing"),
                                       HasSubstr("\"model.norm.wight\" is superfluous"))));
}

TEST_F(WeightMapTest, NamesSuperfluousBias) {
  Declarations tensors = TinyLlama();
  tensors.push_back({"model.layers.0.self_attn.q_proj.bias", DType::kF32, {4}});
  EXPECT_THAT(
      CheckLlama(tensors),
      StatusIs(kInvalid, HasSubstr("\"model.layers.0.self_attn.q_proj.bias\" is superfluous")));
}

TEST_F(WeightMapTest, NamesLayerBeyondConfig) {
  Declarations tensors = TinyLlama();
  tensors.push_back({"model.layers.1.input_layernorm.weight", DType::kF32, {4}});
  EXPECT_THAT(
      CheckLlama(tensors),
      StatusIs(kInvalid, HasSubstr("\"model.layers.1.input_layernorm.weight\" is superfluous")));
}

TEST_F(WeightMapTest, NamesWeightThatIsThereTwice) {
  Declarations tensors = TinyLlama();
  tensors.push_back({"norm.weight", DType::kF32, {4}});
  EXPECT_THAT(CheckLlama(tensors),
              StatusIs(kInvalid,
                       HasSubstr("\"model.norm.weight\" and \"norm.weight\" are the same weight")));
}

TEST_F(WeightMapTest, CountsFaultsBeyondTwenty) {
  Declarations tensors = TinyLlama();
  for (int i = 0; i < 25; ++i) tensors.push_back({absl::StrCat("extra", i), DType::kF32, {1}});
  EXPECT_THAT(CheckLlama(tensors), StatusIs(kInvalid, HasSubstr("and 5 more")));
}

TEST_F(WeightMapTest, IgnoresRotaryBuffers) {
  Declarations tensors = TinyLlama();
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", DType::kF32, {1}});
  PHYLLO_EXPECT_OK(CheckLlama(tensors));
}

TEST_F(WeightMapTest, NamesTiedHeadThatDiffers) {
  Declarations tensors = TinyLlama();
  tensors.push_back({"lm_head.weight", DType::kF32, {5, 4}});  // other bytes than embed_tokens
  EXPECT_THAT(
      CheckLlama(tensors),
      StatusIs(kInvalid, HasSubstr("\"lm_head.weight\" differs from \"model.embed_tokens.weight\" "
                                   "although tie_word_embeddings")));
}

TEST_F(WeightMapTest, NeedsHeadWhenUntied) {
  DecoderDescription description = Tiny("llama");
  description.tie_word_embeddings = false;
  EXPECT_THAT(CheckTensors(BuildWeightMap(description), *Write(TinyLlama())),
              StatusIs(kInvalid, HasSubstr("tensor \"lm_head.weight\" is missing")));
}

TEST_F(WeightMapTest, AcceptsNamesOfBareModel) {
  Declarations tensors = TinyLlama();
  for (TensorDeclaration& tensor : tensors)
    tensor.name = tensor.name.substr(6);  // without "model."
  PHYLLO_EXPECT_OK(CheckLlama(tensors));
}

TEST_F(WeightMapTest, AcceptsWeightsSuffixOfMinimind2Only) {
  Declarations tensors = TinyLlama();
  tensors[10].name = "model.norm.weights";
  const std::unique_ptr<Checkpoint> checkpoint = Write(tensors);
  PHYLLO_EXPECT_OK(CheckTensors(BuildWeightMap(Tiny("minimind")), *checkpoint));
  EXPECT_THAT(CheckTensors(BuildWeightMap(Tiny("llama")), *checkpoint),
              StatusIs(kInvalid, HasSubstr("model.norm.weights")));
}

TEST(ReadWeightRowsTest, WidensRows) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> bytes(12);
  ConvertFromFloat(values, DType::kBf16, bytes.data());
  const TensorView tensor = {"t", DType::kBf16, {3, 2}, bytes};
  WeightSpec spec;
  spec.rows = 3;
  spec.columns = 2;
  spec.shape = {3, 2};
  std::vector<float> got(4);
  ReadWeightRows(spec, tensor, 1, absl::MakeSpan(got));
  EXPECT_THAT(got, ElementsAre(3, 4, 5, 6));
}

TEST(ReadWeightRowsTest, TransposesSliceOfFusedTensor) {
  // [in = 2, out = 6]: element (in, out) is 10 * in + out; the slice is outputs 2 .. 4.
  const std::vector<float> values = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};
  std::vector<uint8_t> bytes(48);
  ConvertFromFloat(values, DType::kF32, bytes.data());
  const TensorView tensor = {"t", DType::kF32, {2, 6}, bytes};
  WeightSpec spec;
  spec.rows = 3;
  spec.columns = 2;
  spec.shape = {2, 6};
  spec.transposed = true;
  spec.row_begin = 2;
  std::vector<float> got(4);
  ReadWeightRows(spec, tensor, 1, absl::MakeSpan(got));
  EXPECT_THAT(got, ElementsAre(3, 13, 4, 14));
}

TEST(ReadWeightRowsTest, GathersRunsOfFusedTensor) {
  // Two heads of q, k, v with two rows each; the weight is k: rows 2, 3, 8, 9.
  const std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<uint8_t> bytes(48);
  ConvertFromFloat(values, DType::kF32, bytes.data());
  const TensorView tensor = {"t", DType::kF32, {12}, bytes};
  WeightSpec spec;
  spec.rows = 4;
  spec.shape = {12};
  spec.row_begin = 2;
  spec.run_rows = 2;
  spec.run_stride = 6;
  std::vector<float> all(4);
  ReadWeightRows(spec, tensor, 0, absl::MakeSpan(all));
  EXPECT_THAT(all, ElementsAre(2, 3, 8, 9));
  std::vector<float> part(2);
  ReadWeightRows(spec, tensor, 1, absl::MakeSpan(part));
  EXPECT_THAT(part, ElementsAre(3, 8));
}

}  // namespace
}  // namespace phyllo
