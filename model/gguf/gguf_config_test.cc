#include "model/gguf/gguf_config.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/testing/gguf_bytes.h"
#include "model/gguf/model_files.h"

namespace phyllo {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// The keys of a model with 4 heads of 8 and 2 layers, and its embedding of 32 rows.
GgufBytes SmallModel(const std::string& architecture) {
  GgufBytes file;
  file.Text("general.architecture", architecture)
      .Uint32(architecture + ".context_length", 256)
      .Uint32(architecture + ".embedding_length", 32)
      .Uint32(architecture + ".block_count", 2)
      .Uint32(architecture + ".feed_forward_length", 96)
      .Uint32(architecture + ".attention.head_count", 4)
      .Float32(architecture + ".attention.layer_norm_rms_epsilon", 0.5f)
      .Zeros("token_embd.weight", {40, 32});
  return file;
}

absl::StatusOr<std::string> Read(const GgufBytes& file, absl::string_view name) {
  const std::string path = testing::TempDir() + "/model.gguf";
  std::ofstream(path, std::ios::binary) << file.Finish();
  return ReadModelFile(path, name);
}

Json Config(const GgufBytes& file) {
  const absl::StatusOr<std::string> text = Read(file, "config.json");
  EXPECT_THAT(text, IsOk());
  return text.ok() ? Json::parse(*text) : Json();
}

TEST(GgufConfigTest, TranslatesSizes) {
  const Json config = Config(SmallModel("llama").Uint32("llama.attention.head_count_kv", 2));
  EXPECT_EQ(config["model_type"], "llama");
  EXPECT_EQ(config["weight_names"], "gguf");
  EXPECT_EQ(config["vocab_size"], 40);
  EXPECT_EQ(config["hidden_size"], 32);
  EXPECT_EQ(config["intermediate_size"], 96);
  EXPECT_EQ(config["num_hidden_layers"], 2);
  EXPECT_EQ(config["num_attention_heads"], 4);
  EXPECT_EQ(config["num_key_value_heads"], 2);
  EXPECT_EQ(config["head_dim"], 8);
  EXPECT_EQ(config["max_position_embeddings"], 256);
  EXPECT_EQ(config["rms_norm_eps"], 0.5);
  EXPECT_EQ(config["rope_theta"], 10000.0);
  EXPECT_EQ(config["tie_word_embeddings"], true);
  EXPECT_FALSE(config.contains("rope_scaling"));
}

TEST(GgufConfigTest, TensorsTellBiasesAndHead) {
  const Json config = Config(SmallModel("llama")
                                 .Zeros("output.weight", {40, 32})
                                 .Zeros("blk.0.attn_q.bias", {32})
                                 .Zeros("blk.0.ffn_gate.bias", {96}));
  EXPECT_EQ(config["tie_word_embeddings"], false);
  EXPECT_EQ(config["attention_bias"], true);
  EXPECT_EQ(config["mlp_bias"], true);
}

TEST(GgufConfigTest, LlamaWithExpertsIsMixtral) {
  const Json config = Config(
      SmallModel("llama").Uint32("llama.expert_count", 8).Uint32("llama.expert_used_count", 2));
  EXPECT_EQ(config["model_type"], "mixtral");
  EXPECT_EQ(config["num_local_experts"], 8);
  EXPECT_EQ(config["num_experts_per_tok"], 2);
}

TEST(GgufConfigTest, FactorsOfFrequenciesAreLongropeWithoutSwitch) {
  const Json config = Config(SmallModel("llama").Zeros("rope_freqs.weight", {4}));
  const Json& scaling = config["rope_scaling"];
  EXPECT_EQ(scaling["rope_type"], "longrope");
  EXPECT_EQ(scaling["short_factor"], scaling["long_factor"]);
  EXPECT_EQ(scaling["short_factor"].size(), 4u);
  EXPECT_EQ(scaling["attention_factor"], 1.0);
  EXPECT_EQ(scaling["original_max_position_embeddings"], 256);
}

TEST(GgufConfigTest, TranslatesYarn) {
  const Json config = Config(SmallModel("qwen2")
                                 .Text("qwen2.rope.scaling.type", "yarn")
                                 .Float32("qwen2.rope.scaling.factor", 4.0f)
                                 .Uint32("qwen2.rope.scaling.original_context_length", 64));
  EXPECT_EQ(
      config["rope_scaling"],
      (Json{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}}));
}

TEST(GgufConfigTest, UnknownRopeScalingIsNamed) {
  EXPECT_THAT(Read(SmallModel("qwen2").Text("qwen2.rope.scaling.type", "odd"), "config.json"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("qwen2.rope.scaling.type \"odd\" is not supported")));
}

TEST(GgufConfigTest, OtherArchitectureIsNamed) {
  EXPECT_THAT(Read(SmallModel("mamba"), "config.json"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("general.architecture \"mamba\" is not supported")));
  EXPECT_THAT(
      Read(GgufBytes(), "config.json"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("general.architecture is missing")));
}

TEST(GgufConfigTest, MissingAndMistypedKeysAreNamed) {
  EXPECT_THAT(
      Read(GgufBytes().Text("general.architecture", "llama").Zeros("token_embd.weight", {40, 32}),
           "config.json"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("embedding_length is missing")));
  EXPECT_THAT(Read(SmallModel("llama").Text("llama.rope.freq_base", "x"), "config.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("llama.rope.freq_base must be a number")));
}

TEST(GgufConfigTest, SizesThatDifferBetweenLayersAreNamed) {
  GgufBytes file;
  file.Text("general.architecture", "llama")
      .Int32s("llama.feed_forward_length", {96, 64})
      .Uint32("llama.embedding_length", 32)
      .Zeros("token_embd.weight", {40, 32});
  EXPECT_THAT(Read(file, "config.json"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("llama.feed_forward_length differs between layers")));
}

TEST(GgufConfigTest, EndsOfTurnsEndAnAnswer) {
  const GgufBytes file = SmallModel("llama")
                             .Uint32("tokenizer.ggml.eos_token_id", 3)
                             .Texts("tokenizer.ggml.tokens", {"<|eot_id|>", "a", "<|im_end|>", "e"})
                             .Int32s("tokenizer.ggml.token_type", {3, 1, 1, 3});
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string text, Read(file, "generation_config.json"));
  EXPECT_EQ(Json::parse(text), (Json{{"eos_token_id", {0, 3}}}));
}

TEST(GgufConfigTest, OtherFilesAreNotThere) {
  EXPECT_THAT(Read(SmallModel("llama"), "chat_template.jinja"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Read(SmallModel("llama"), "tokenizer.json"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no tokenizer")));
}

TEST(ReadModelFileTest, TellsAMissingFolderFromAMissingFile) {
  const std::string folder = testing::TempDir() + "/folder_without_files";
  EXPECT_THAT(ReadModelFile(folder, "config.json"),
              StatusIs(absl::StatusCode::kNotFound, "the model folder does not exist"));
  std::filesystem::create_directory(folder);
  EXPECT_THAT(ReadModelFile(folder, "config.json"),
              StatusIs(absl::StatusCode::kNotFound, "the model folder has no config.json"));
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace phyllo
