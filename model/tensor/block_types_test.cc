#include "model/tensor/block_types.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/memory_mapped_file.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

constexpr char kReference[] = "tests/golden/data/gguf/block_types.safetensors";

// Random blocks of a type, and what gguf-py makes of them.
struct Reference {
  std::vector<uint8_t> blocks;
  std::vector<float> values;
};

Reference ReadReference(DType dtype) {
  const auto file = MemoryMappedFile::Open(kReference);
  EXPECT_THAT(file, IsOk());
  const auto tensors = ParseSafetensors(file->data(), kReference);
  EXPECT_THAT(tensors, IsOk());
  const std::string name(DTypeName(dtype));
  Reference reference;
  for (const TensorView& tensor : *tensors) {
    if (tensor.name == name + ".blocks")
      reference.blocks.assign(tensor.data.begin(), tensor.data.end());
    if (tensor.name != name + ".values") continue;
    reference.values.resize(tensor.num_elements());
    ConvertToFloat(DType::kF32, tensor.data.data(), absl::MakeSpan(reference.values));
  }
  return reference;
}

class BlockTypesTest : public testing::TestWithParam<DType> {};

TEST_P(BlockTypesTest, EqualsGgufPyBitByBit) {
  const Reference reference = ReadReference(GetParam());
  ASSERT_GE(reference.values.size(), 256u);
  ASSERT_EQ(RunBytes(GetParam(), static_cast<int64_t>(reference.values.size())),
            static_cast<int64_t>(reference.blocks.size()));
  std::vector<float> values(reference.values.size());
  DequantizeBlocks(GetParam(), reference.blocks.data(), absl::MakeSpan(values));
  EXPECT_THAT(values, ElementsAreArray(reference.values));
}

TEST_P(BlockTypesTest, ZeroScalesGiveZeros) {
  std::vector<float> values(BlockElements(GetParam()), 1.0f);
  const std::vector<uint8_t> block(ByteSize(GetParam()));
  ConvertToFloat(GetParam(), block.data(), absl::MakeSpan(values));
  EXPECT_THAT(values, Each(0.0f));
}

INSTANTIATE_TEST_SUITE_P(All, BlockTypesTest,
                         testing::Values(DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                                         DType::kQ8_0, DType::kQ2K, DType::kQ3K, DType::kQ4K,
                                         DType::kQ5K, DType::kQ6K),
                         [](const testing::TestParamInfo<DType>& info) {
                           return std::string(DTypeName(info.param));
                         });

TEST(BlockTypesTest, AreNoTypesOfSafetensors) {
  EXPECT_EQ(ParseDType("Q4_0"), std::nullopt);
  EXPECT_TRUE(IsWeightDType(DType::kQ6K));
  EXPECT_FALSE(IsPlainWeightDType(DType::kQ6K));
}

}  // namespace
}  // namespace phyllo
