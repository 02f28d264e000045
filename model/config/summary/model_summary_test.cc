#include "model/config/summary/model_summary.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/summary/model_summary_text.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<DecoderDescription> DescribeFolder(const std::string& folder) {
  std::ifstream stream(absl::StrCat(folder, "/config.json"), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(text));
  return DescribeDecoder(config);
}

const ModuleSummary* FindModule(const ModelSummary& summary, const std::string& name) {
  for (const ModuleSummary& module : summary.modules) {
    if (module.name == name) return &module;
  }
  return nullptr;
}

// The totals of the summary are those of the file, for every family's layout.
TEST(SummarizeModelTest, CountsWhatTheCheckpointHolds) {
  for (const char* model :
       {"gemma3_text", "gpt2", "gpt_neox", "llama-bias", "llama-mqa-headdim", "llama-seqcls",
        "llama-sharded", "minimind3-pth", "mixtral", "olmo2", "phi3", "qwen2", "qwen3",
        "qwen3-embedding", "qwen3_moe", "stories260K"}) {
    const std::string folder = absl::StrCat("tests/golden/data/models/", model);
    PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeFolder(folder));
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint,
                                Checkpoint::Open(folder));
    const ModelSummary summary = SummarizeModel(description, checkpoint.get(), DType::kF32);
    EXPECT_EQ(summary.weight_bytes, checkpoint->total_bytes()) << model;
    int64_t elements = 0;
    for (const TensorView& tensor : checkpoint->tensors()) elements += tensor.num_elements();
    EXPECT_EQ(summary.parameter_count, elements) << model;
  }
}

TEST(SummarizeModelTest, DescribesDemoModel) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeFolder("model/demo"));
  const ModelSummary summary = SummarizeModel(description, nullptr, DType::kBf16);
  EXPECT_EQ(summary.parameter_count, 2534208);  // of its README
  EXPECT_EQ(summary.weight_bytes, 2 * 2534208);
  EXPECT_EQ(summary.kv_bytes_per_token_bf16, 6 * 2 * 2 * 32 * 2);
  EXPECT_EQ(summary.kv_bytes_per_token_f32, 2 * summary.kv_bytes_per_token_bf16);
  EXPECT_EQ(summary.kv_bytes_per_token_int8, 6 * 2 * 2 * (32 + 4));
  const ModuleSummary* k_proj = FindModule(summary, "layers.5.self_attn.k_proj");
  ASSERT_NE(k_proj, nullptr);
  EXPECT_EQ(k_proj->input_shape, "[n, 192]");
  EXPECT_EQ(k_proj->output_shape, "[n, 64]");
  EXPECT_EQ(k_proj->parameter_count, 192 * 64);
  EXPECT_EQ(k_proj->weight_type, "BF16");
  const ModuleSummary* attention = FindModule(summary, "layers.0.self_attn.attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->kind, "GQA 6:2 x 32, RoPE default");
  const ModuleSummary* head = FindModule(summary, "lm_head");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->parameter_count, 0);
  EXPECT_EQ(head->output_shape, "[n, 2048]");
}

TEST(SummarizeModelTest, ShowsPositionsAndPlainFeedForwardOfGpt2) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description,
                              DescribeFolder("tests/golden/data/models/gpt2"));
  const ModelSummary summary = SummarizeModel(description, nullptr, DType::kF32);
  const ModuleSummary* positions = FindModule(summary, "embed_positions");
  ASSERT_NE(positions, nullptr);
  EXPECT_EQ(positions->parameter_count, 160 * 60);
  EXPECT_EQ(FindModule(summary, "layers.0.mlp.gate_proj"), nullptr);
  const ModuleSummary* up = FindModule(summary, "layers.0.mlp.up_proj");
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(up->parameter_count, 60 * 240 + 240);
}

// The kind of a module of a golden model, or "" if it has no such module.
std::string KindOf(const std::string& model, const std::string& module) {
  const ModelSummary summary = SummarizeModel(
      *DescribeFolder(absl::StrCat("tests/golden/data/models/", model)), nullptr, DType::kF32);
  const ModuleSummary* found = FindModule(summary, module);
  return found == nullptr ? "" : found->kind;
}

TEST(SummarizeModelTest, ShowsExperts) {
  EXPECT_EQ(KindOf("qwen3_moe", "layers.0.mlp.router"), "top 3 of 8, renormalized");
  EXPECT_EQ(KindOf("qwen3_moe", "layers.0.mlp.experts"), "8 x silu(gate) * up of 40");
  EXPECT_EQ(KindOf("qwen3_moe", "layers.1.mlp.router"), "");  // a dense layer
  EXPECT_EQ(KindOf("minimind2-moe", "layers.0.mlp.shared_experts"), "1 x silu(gate) * up of 64");
}

TEST(SummarizeModelTest, ShowsAttentionOfEachKind) {
  EXPECT_EQ(KindOf("gemma2", "layers.0.self_attn.attention"),
            "GQA 4:2 x 24, RoPE default, window 16, soft cap 3");
  EXPECT_EQ(KindOf("gemma3_text", "layers.5.self_attn.attention"),
            "GQA 4:2 x 16, RoPE linear, theta 1e+06");
  EXPECT_EQ(KindOf("phi3-longrope", "layers.0.self_attn.attention"),
            "GQA 4:2 x 16, RoPE longrope of 12");
  EXPECT_EQ(KindOf("smollm3", "layers.3.self_attn.attention"), "GQA 4:2 x 16, no positions");
  EXPECT_EQ(KindOf("minimind1", "layers.0.self_attn.attention"),
            "GQA 4:2 x 16, RoPE default interleaved");
}

TEST(SummarizeModelTest, ShowsNormsResidualAndHead) {
  EXPECT_EQ(KindOf("gemma2", "layers.0.feed_forward_output_norm"), "RMSNorm, weight + 1");
  EXPECT_EQ(KindOf("olmo2", "layers.0.self_attn.q_norm"), "RMSNorm over all heads");
  EXPECT_EQ(KindOf("olmo2", "layers.0.input_norm"), "");
  EXPECT_EQ(KindOf("gpt_neox", "layers.0.residual"), "attention and mlp in parallel");
  EXPECT_EQ(KindOf("granite", "layers.0.residual"), "halves * 0.4");
  EXPECT_EQ(KindOf("granite", "lm_head"), "Linear, tied to embed_tokens, divided by 1.7");
  EXPECT_EQ(KindOf("llama-seqcls", "score"), "Linear, of the last token");
  EXPECT_EQ(KindOf("qwen3-embedding", "lm_head"), "");
}

TEST(FormatModelSummaryTest, FoldsEqualLayers) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeFolder("model/demo"));
  const std::string text =
      FormatModelSummary(SummarizeModel(description, nullptr, DType::kBf16), /*all_layers=*/false);
  EXPECT_THAT(text, AllOf(HasSubstr("layers.0.mlp.down_proj"),
                          HasSubstr("layers.1 .. layers.5: as layers.0\n"),
                          Not(HasSubstr("layers.1.mlp.down_proj")),
                          HasSubstr("total: 2,534,208 parameters, 5,068,416 bytes in the file\n"),
                          HasSubstr("KV cache per token: 3,072 bytes in f32, 1,536 in bf16, 864 in "
                                    "int8\n")));
}

TEST(FormatModelSummaryTest, ShowsWhatWeightsTakeInMemory) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeFolder("model/demo"));
  ModelSummary summary = SummarizeModel(description, nullptr, DType::kBf16);
  EXPECT_THAT(FormatModelSummary(summary, /*all_layers=*/false), Not(HasSubstr("in memory")));
  summary.packed = {{"f32", 10136832}, {"int8", 2000}};
  EXPECT_THAT(FormatModelSummary(summary, /*all_layers=*/false),
              HasSubstr("weights in memory: 10,136,832 bytes in f32, 2,000 in int8\n"));
}

TEST(FormatModelSummaryTest, KeepsLayersThatDiffer) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(DecoderDescription description, DescribeFolder("model/demo"));
  description.layers[3].attention.sliding_window = 16;
  const std::string text =
      FormatModelSummary(SummarizeModel(description, nullptr, DType::kBf16), /*all_layers=*/false);
  EXPECT_THAT(text, AllOf(HasSubstr("layers.1 .. layers.2: as layers.0\n"),
                          HasSubstr("layers.3.self_attn.attention"), HasSubstr("window 16"),
                          HasSubstr("layers.5: as layers.4\n")));
}

TEST(FormatModelSummaryTest, PrintsEveryLayerWhenAsked) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeFolder("model/demo"));
  const std::string text =
      FormatModelSummary(SummarizeModel(description, nullptr, DType::kBf16), /*all_layers=*/true);
  EXPECT_THAT(text, AllOf(HasSubstr("layers.5.mlp.down_proj"), Not(HasSubstr(": as "))));
}

}  // namespace
}  // namespace phyllo
