#include "model/embedding/embedding_table.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/memory_mapped_file.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

// A golden model and its reference tensors.
struct Golden {
  DecoderDescription description;
  std::unique_ptr<Checkpoint> checkpoint;
  MemoryMappedFile reference_file;
  std::vector<TensorView> reference;

  std::vector<float> Floats(const std::string& name) const {
    for (const TensorView& tensor : reference) {
      if (tensor.name != name) continue;
      std::vector<float> values(tensor.num_elements());
      ConvertToFloat(tensor.dtype, tensor.data.data(), absl::MakeSpan(values));
      return values;
    }
    return {};
  }

  std::vector<int32_t> Ids(const std::string& name) const {
    for (const TensorView& tensor : reference) {
      if (tensor.name != name) continue;
      std::vector<int64_t> wide(tensor.num_elements());
      std::memcpy(wide.data(), tensor.data.data(), tensor.data.size());
      return std::vector<int32_t>(wide.begin(), wide.end());
    }
    return {};
  }
};

absl::StatusOr<Golden> LoadGolden(const std::string& model) {
  const std::string folder = absl::StrCat("tests/golden/data/models/", model);
  std::ifstream stream(absl::StrCat(folder, "/config.json"), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(text));
  PHYLLO_ASSIGN_OR_RETURN(DecoderDescription description, DescribeDecoder(config));
  PHYLLO_ASSIGN_OR_RETURN(std::unique_ptr<Checkpoint> checkpoint, Checkpoint::Open(folder));
  PHYLLO_ASSIGN_OR_RETURN(MemoryMappedFile file,
                          MemoryMappedFile::Open(absl::StrCat(folder, "/golden.safetensors")));
  PHYLLO_ASSIGN_OR_RETURN(std::vector<TensorView> reference,
                          ParseSafetensors(file.data(), "golden.safetensors"));
  return Golden{std::move(description), std::move(checkpoint), std::move(file),
                std::move(reference)};
}

class GoldenEmbeddingTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenEmbeddingTest, EqualsReferenceBitForBit) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const Golden golden, LoadGolden(GetParam()));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable table,
                              EmbeddingTable::Create(golden.description, *golden.checkpoint));
  const std::vector<int32_t> ids = golden.Ids("p1.input_ids");
  const std::vector<float> want = golden.Floats("p1.hidden.embed");
  ASSERT_FALSE(want.empty());
  std::vector<float> got(ids.size() * table.hidden_size());
  PHYLLO_ASSERT_OK(table.Embed(ids, 0, absl::MakeSpan(got)));
  EXPECT_EQ(got, want);
}

TEST_P(GoldenEmbeddingTest, LosesNothingInNativeForm) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const Golden golden, LoadGolden(GetParam()));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable table,
                              EmbeddingTable::Create(golden.description, *golden.checkpoint));
  const std::vector<int32_t> ids = golden.Ids("p1.input_ids");
  std::vector<uint8_t> native(ids.size() * table.hidden_size() * ByteSize(table.native_dtype()));
  PHYLLO_ASSERT_OK(table.EmbedNative(ids, 0, absl::MakeSpan(native)));
  std::vector<float> widened(ids.size() * table.hidden_size());
  ConvertToFloat(table.native_dtype(), native.data(), absl::MakeSpan(widened));
  EXPECT_EQ(widened, golden.Floats("p1.hidden.embed"));
}

// f32 with learned positions, bf16, f16.
INSTANTIATE_TEST_SUITE_P(Models, GoldenEmbeddingTest,
                         ::testing::Values("gpt2", "gpt2-hub", "llama-gqa", "llama-f16",
                                           "minimind3"));

TEST(EmbeddingTableTest, KeepsElementTypeWithoutArithmetic) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const Golden llama, LoadGolden("llama-gqa"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable table,
                              EmbeddingTable::Create(llama.description, *llama.checkpoint));
  EXPECT_EQ(table.native_dtype(), DType::kBf16);
  EXPECT_EQ(table.position_limit(), std::numeric_limits<int64_t>::max());
}

TEST(EmbeddingTableTest, WidensWhenScaled) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(Golden llama, LoadGolden("llama-gqa"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable plain,
                              EmbeddingTable::Create(llama.description, *llama.checkpoint));
  llama.description.embedding_scale = 3.0f;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable scaled,
                              EmbeddingTable::Create(llama.description, *llama.checkpoint));
  EXPECT_EQ(scaled.native_dtype(), DType::kF32);
  std::vector<float> a(72), b(72);
  PHYLLO_ASSERT_OK(plain.Embed({7}, 0, absl::MakeSpan(a)));
  PHYLLO_ASSERT_OK(scaled.Embed({7}, 0, absl::MakeSpan(b)));
  for (int i = 0; i < 72; ++i) EXPECT_EQ(b[i], a[i] * 3.0f) << i;
}

TEST(EmbeddingTableTest, AddsRowOfFirstPosition) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const Golden gpt2, LoadGolden("gpt2"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable table,
                              EmbeddingTable::Create(gpt2.description, *gpt2.checkpoint));
  std::vector<float> whole(3 * 60), last(60);
  PHYLLO_ASSERT_OK(table.Embed({5, 6, 7}, 0, absl::MakeSpan(whole)));
  PHYLLO_ASSERT_OK(table.Embed({7}, 2, absl::MakeSpan(last)));
  EXPECT_EQ(std::vector<float>(whole.begin() + 120, whole.end()), last);
}

TEST(EmbeddingTableTest, ReturnsInvalidArgumentForIdOutsideVocabulary) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const Golden llama, LoadGolden("llama-gqa"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable table,
                              EmbeddingTable::Create(llama.description, *llama.checkpoint));
  std::vector<float> out(2 * 72, 9.0f);
  EXPECT_THAT(table.Embed({1, 509}, 0, absl::MakeSpan(out)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("token id 509 at index 1 is outside 0 .. 508")));
  EXPECT_EQ(out, std::vector<float>(2 * 72, 9.0f));
  EXPECT_THAT(table.Check({-1}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token id -1")));
}

TEST(EmbeddingTableTest, ReturnsInvalidArgumentForPositionBeyondTable) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const Golden gpt2, LoadGolden("gpt2"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbeddingTable table,
                              EmbeddingTable::Create(gpt2.description, *gpt2.checkpoint));
  EXPECT_EQ(table.position_limit(), 160);
  PHYLLO_EXPECT_OK(table.Check({1, 2}, 158));
  EXPECT_THAT(table.Check({1, 2}, 159),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("2 tokens from position 159 on are outside positions 0 .. 159")));
  EXPECT_THAT(table.Check({1}, -1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from position -1")));
  EXPECT_THAT(table.Check({1}, std::numeric_limits<int64_t>::max()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace phyllo
