#include "model/packed_cache/packed_image.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/packed_cache/packed_image_writer.h"
#include "model/packed_cache/testing/model_folder.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kKey[] = "weights=1\nprecision=bf16\n";

// An image of three chunks, the last one short, in allocations that do not end where chunks do.
class PackedImageTest : public ::testing::TestWithParam<ImageMemory> {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(pool_, ThreadPool::Create({.num_threads = 2}));
    for (const int64_t size : {int64_t{1000}, int64_t{5} << 20, int64_t{64}, int64_t{4} << 20}) {
      PHYLLO_ASSERT_OK_AND_ASSIGN(const absl::Span<uint8_t> bytes,
                                  arena_.AllocateSpan<uint8_t>(size));
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
      parts_.push_back(bytes);
    }
  }

  PackedImage Image(const std::string& key = kKey) {
    return PackedImage({.path = folder_, .stem = "model.safetensors"}, key, GetParam());
  }
  absl::Status Write(const std::string& key = kKey) {
    return Image(key).Write(arena_, /*stop=*/false);
  }
  absl::Status Read() { return Image().Read(*pool_, nullptr).status(); }

  const std::string folder_ = NewTestFolder("cache");
  std::unique_ptr<ThreadPool> pool_;
  HugePageArena arena_;
  std::vector<absl::Span<const uint8_t>> parts_;
};

TEST_P(PackedImageTest, GivesBackTheAllocationsInOrder) {
  PHYLLO_ASSERT_OK(Write());
  std::vector<int64_t> done;
  PHYLLO_ASSERT_OK_AND_ASSIGN(PackedImage::Contents contents,
                              Image().Read(*pool_, [&](int64_t bytes, int64_t total) {
                                EXPECT_EQ(total, arena_.bytes());
                                done.push_back(bytes);
                              }));
  EXPECT_EQ(contents.image_bytes, arena_.bytes());
  EXPECT_EQ(contents.arena.bytes(), 0);
  if (GetParam() != ImageMemory::kAutomatic) {
    EXPECT_EQ(contents.shared, GetParam() == ImageMemory::kShared);
  }
  for (const absl::Span<const uint8_t> part : parts_) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const absl::Span<uint8_t> read,
                                contents.arena.AllocateSpan<uint8_t>(part.size()));
    EXPECT_EQ(std::memcmp(read.data(), part.data(), part.size()), 0);
  }
  EXPECT_EQ(contents.arena.bytes(), contents.image_bytes);
  EXPECT_EQ(done.back(), arena_.bytes());
}

TEST_P(PackedImageTest, ReturnsNotFoundWithoutAFile) {
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(PackedImageTest, ImagesOfOtherKeysLieBesideEachOther) {
  PHYLLO_ASSERT_OK(Write());
  PHYLLO_ASSERT_OK(Write("weights=1\nprecision=f32\n"));
  PHYLLO_EXPECT_OK(Read());
  EXPECT_THAT(Image("weights=1\nprecision=int8\n").Read(*pool_, nullptr),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(PackedImageTest, AnImageOfAnotherKeyUnderThisNameIsStale) {
  const std::string other = "weights=1\nprecision=f32\n";
  PHYLLO_ASSERT_OK(Write(other));
  std::filesystem::rename(Image(other).path(), Image().path());
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("precision=f32"), HasSubstr("precision=bf16"))));
}

TEST_P(PackedImageTest, ReturnsDataLossWhenTruncatedAnywhere) {
  PHYLLO_ASSERT_OK(Write());
  const int64_t size = std::filesystem::file_size(Image().path());
  for (const int64_t shorter :
       {size - 1, size / 2, int64_t{1} << 21, int64_t{100}, int64_t{10}, int64_t{0}}) {
    std::filesystem::resize_file(Image().path(), shorter);
    EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss)) << shorter;
  }
}

TEST_P(PackedImageTest, NoticesAFlippedBitEverywhereInTheHeader) {
  PHYLLO_ASSERT_OK(Write());
  // Prefix, key, the digests of three chunks, that of the header.
  const int64_t header = 32 + sizeof(kKey) - 1 + 4 * 32;
  for (int64_t i = 0; i < header; ++i) {
    FlipBit(Image().path(), i);
    EXPECT_FALSE(Read().ok()) << "byte " << i;
    FlipBit(Image().path(), i);
  }
  PHYLLO_EXPECT_OK(Read());
}

TEST_P(PackedImageTest, NoticesAFlippedBitInTheImage) {
  PHYLLO_ASSERT_OK(Write());
  const int64_t size = std::filesystem::file_size(Image().path());
  for (const int64_t i : {int64_t{1} << 21, size / 2, size - 1}) {
    FlipBit(Image().path(), i);
    EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged between")));
    FlipBit(Image().path(), i);
  }
  PHYLLO_EXPECT_OK(Read());
}

TEST_P(PackedImageTest, AHeaderThatClaimsAnotherSizeIsNotBelieved) {
  PHYLLO_ASSERT_OK(Write());
  for (const int64_t claim : {int64_t{1} << 62, int64_t{-1}, int64_t{0}}) {
    std::fstream(Image().path(), std::ios::binary | std::ios::in | std::ios::out)
        .seekp(16)
        .write(reinterpret_cast<const char*>(&claim), sizeof(claim));
    EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss)) << claim;
  }
}

TEST_P(PackedImageTest, WhatIsNoImageIsReplaced) {
  WriteAll(Image().path(), "not an image, but of some length, longer than the prefix of one");
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss));
  PHYLLO_ASSERT_OK(Write());
  PHYLLO_EXPECT_OK(Read());
}

TEST_P(PackedImageTest, WritingRemovesImagesOfOtherWeights) {
  const std::string older = "weights=0\nprecision=bf16\n";
  PHYLLO_ASSERT_OK(Write(older));
  PHYLLO_ASSERT_OK(Write("weights=1\nprecision=f32\n"));
  WriteAll(folder_ + "/model.safetensors.0123456789abcdef.packed", "of an older format");
  WriteAll(folder_ + "/model.safetensors.my.packed", "a user's file");
  PHYLLO_ASSERT_OK(Write());
  EXPECT_FALSE(std::filesystem::exists(Image(older).path()));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/model.safetensors.0123456789abcdef.packed"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/model.safetensors.my.packed"));
  EXPECT_TRUE(std::filesystem::exists(Image("weights=1\nprecision=f32\n").path()));
}

TEST_P(PackedImageTest, AStoppedWriteLeavesNothing) {
  EXPECT_THAT(Image().Write(arena_, /*stop=*/true), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_P(PackedImageTest, TwoWritersGiveOneGoodFile) {
  const PackedImage image = Image();
  std::vector<absl::Status> results(2);
  absl::Notification done[2];
  {
    std::vector<std::unique_ptr<PackedImageWriter>> writers;
    for (int i = 0; i < 2; ++i) {
      writers.push_back(
          std::make_unique<PackedImageWriter>(image, arena_, [&, i](const absl::Status& status) {
            results[i] = status;
            done[i].Notify();
          }));
    }
    for (absl::Notification& notification : done) notification.WaitForNotification();
  }
  EXPECT_TRUE(results[0].ok() || results[1].ok());
  for (const absl::Status& status : results)
    EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
  PHYLLO_EXPECT_OK(Read());
}

TEST_P(PackedImageTest, AnUnwritableFolderIsAnErrorAndNothingElse) {
  const PackedImage image({.path = "/proc/phyllo", .stem = "model.safetensors"}, kKey, GetParam());
  EXPECT_FALSE(image.Write(arena_, /*stop=*/false).ok());
}

INSTANTIATE_TEST_SUITE_P(AllMemories, PackedImageTest,
                         ::testing::Values(ImageMemory::kPrivate, ImageMemory::kShared,
                                           ImageMemory::kAutomatic),
                         [](const auto& info) {
                           if (info.param == ImageMemory::kPrivate) return "Private";
                           return info.param == ImageMemory::kShared ? "Shared" : "Automatic";
                         });

}  // namespace
}  // namespace phyllo
