// Packed weights and their images: what is packed, and that an image takes the place of packing.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/digest.h"
#include "model/base/status_macros.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/packed_cache/packed_image.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/transformer/packing/packed_image_key.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/testing/toy_models.h"
#include "model/transformer/transformer.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::string BytesOf(const HugePageArena& arena) {
  std::string bytes;
  for (const absl::Span<const std::byte> piece : arena.used())
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return bytes;
}

// The weights of a toy model, packed.
absl::StatusOr<std::unique_ptr<Transformer>> LoadToy(const ToyModel& model,
                                                     const Checkpoint& checkpoint, ThreadPool& pool,
                                                     Precision precision,
                                                     const PackedImage* image = nullptr) {
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ToyConfig(model));
  return Transformer::Load(config, checkpoint, pool,
                           {.precision = ModelPrecision::Of(precision),
                            .max_rows = 8,
                            .progress = nullptr,
                            .image = image});
}

class PackedWeightsTest : public ::testing::TestWithParam<ToyModel> {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string folder, WriteToyModel(GetParam()));
    PHYLLO_ASSERT_OK_AND_ASSIGN(checkpoint_, Checkpoint::Open(folder));
    PHYLLO_ASSERT_OK_AND_ASSIGN(pool_, ThreadPool::Create({.num_threads = 2}));
  }

  absl::StatusOr<std::unique_ptr<Transformer>> Load(Precision precision, const PackedImage* image) {
    return LoadToy(GetParam(), *checkpoint_, *pool_, precision, image);
  }

  PackedImage Image(const std::string& name, ImageMemory memory = ImageMemory::kPrivate) {
    return PackedImage({.path = ::testing::TempDir() + "/images", .stem = GetParam().name}, name,
                       memory);
  }

  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<ThreadPool> pool_;
};

TEST_P(PackedWeightsTest, AnImageHoldsWhatPackingMakes) {
  for (const Precision precision :
       {Precision::kF32, Precision::kBf16, Precision::kInt8, Precision::kInt4}) {
    const std::string key = absl::StrCat("hit ", static_cast<int>(precision));
    PHYLLO_ASSERT_OK_AND_ASSIGN(const auto packed, Load(precision, nullptr));
    EXPECT_THAT(packed->weights().image_status, StatusIs(absl::StatusCode::kFailedPrecondition));
    PHYLLO_ASSERT_OK(Image(key).Write(packed->weights().arena, /*stop=*/false));
    for (const ImageMemory memory :
         {ImageMemory::kPrivate, ImageMemory::kShared, ImageMemory::kAutomatic}) {
      const PackedImage image = Image(key, memory);
      PHYLLO_ASSERT_OK_AND_ASSIGN(const auto read, Load(precision, &image));
      PHYLLO_EXPECT_OK(read->weights().image_status);
      EXPECT_TRUE(BytesOf(read->weights().arena) == BytesOf(packed->weights().arena));
    }
  }
}

// An image is flushed to the disk, which takes long where others write: few models, few images.
INSTANTIATE_TEST_SUITE_P(Toys, PackedWeightsTest, ::testing::ValuesIn(ToyModelsOfEveryWeight()),
                         [](const auto& info) { return info.param.name; });

using PackedImageSizeTest = PackedWeightsTest;

TEST_P(PackedImageSizeTest, AnImageOfAnotherSizeIsNotUsed) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto packed, Load(Precision::kF32, nullptr));
  for (const int64_t size : {int64_t{64}, packed->weights().arena.bytes() + 64}) {
    HugePageArena arena;
    PHYLLO_ASSERT_OK(arena.Allocate(size).status());
    const PackedImage image = Image(absl::StrCat("size ", size));
    PHYLLO_ASSERT_OK(image.Write(arena, /*stop=*/false));
    PHYLLO_ASSERT_OK_AND_ASSIGN(const auto read, Load(Precision::kF32, &image));
    EXPECT_THAT(read->weights().image_status,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(absl::StrCat(size))));
    EXPECT_TRUE(BytesOf(read->weights().arena) == BytesOf(packed->weights().arena));
  }
}

INSTANTIATE_TEST_SUITE_P(OneToy, PackedImageSizeTest, ::testing::Values(FindToyModel("LlamaGqa")),
                         [](const auto& info) { return info.param.name; });

// Overwrites the tensors of a safetensors file with multiples of 1/64, which need no rounding on
// their way into the file.
void WriteExactWeights(const std::string& path) {
  std::string bytes = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }();
  uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof(header_size));
  std::mt19937 random(1);
  for (size_t at = sizeof(header_size) + header_size; at < bytes.size(); at += sizeof(float)) {
    const float value = static_cast<float>(static_cast<int>(random() % 255) - 127) / 64.0f;
    std::memcpy(&bytes[at], &value, sizeof(value));
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

// Of models with biases, with transposed matrices and with experts.
TEST(PackedLayoutTest, VersionStandsForTheseBytes) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto pool, ThreadPool::Create({.num_threads = 2}));
  std::string digests;
  for (const Precision precision :
       {Precision::kF32, Precision::kBf16, Precision::kInt8, Precision::kInt4}) {
    std::string bytes;
    for (const char* const name : {"LlamaBiases", "Gpt2", "Qwen3Moe"}) {
      const ToyModel model = FindToyModel(name);
      PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string folder, WriteToyModel(model));
      WriteExactWeights(folder + "/model.safetensors");
      PHYLLO_ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(folder));
      PHYLLO_ASSERT_OK_AND_ASSIGN(const auto packed, LoadToy(model, *checkpoint, *pool, precision));
      bytes += BytesOf(packed->weights().arena);
    }
    absl::StrAppend(&digests, PrecisionName(precision), " ", Sha256Hex(bytes).substr(0, 16), "\n");
  }
  EXPECT_EQ(digests,
            "f32 bcaabd9f9ca08a9b\n"
            "bf16 940ea0f5160fcec7\n"
            "int8 9e76238c4fb6f671\n"
            "int4 6d5060f64213a58f\n")
      << "other bytes need another kPackedLayoutVersion";
  EXPECT_EQ(kPackedLayoutVersion, 2);
}

TEST(PackedImageKeyTest, EveryPartMakesAnotherKey) {
  const PackedImageParts parts = {.weights_sha256 = "11",
                                  .config_json = "{}",
                                  .precision = "bf16",
                                  .first_layer = 0,
                                  .last_layer = 2};
  std::vector<PackedImageParts> others(5, parts);
  others[0].weights_sha256 = "12";
  others[1].config_json = "{ }";
  others[2].precision = "f32";
  others[3].first_layer = 1;
  others[4].last_layer = 3;
  for (const PackedImageParts& other : others)
    EXPECT_NE(PackedImageKey(other), PackedImageKey(parts));
  EXPECT_THAT(PackedImageKey(parts), ::testing::StartsWith("weights_sha256=11\n"));
}

}  // namespace
}  // namespace phyllo
