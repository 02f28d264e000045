#include "model/tensor/huge_page_arena.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

TEST(HugePageArenaTest, GivesAlignedZeroedDisjointMemory) {
  HugePageArena arena;
  std::vector<std::pair<uint8_t*, int64_t>> blocks;
  for (int64_t size : {1, 63, 64, 65, 1000, 1 << 20, 3}) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(absl::Span<uint8_t> block, arena.AllocateSpan<uint8_t>(size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % HugePageArena::kAlignment, 0u);
    for (uint8_t byte : block) ASSERT_EQ(byte, 0);
    std::memset(block.data(), static_cast<int>(blocks.size()) + 1, block.size());
    blocks.emplace_back(block.data(), size);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (int64_t j = 0; j < blocks[i].second; ++j) ASSERT_EQ(blocks[i].first[j], i + 1);
  }
}

TEST(HugePageArenaTest, CountsBytesWithAlignment) {
  HugePageArena arena;
  PHYLLO_ASSERT_OK(arena.Allocate(1).status());
  PHYLLO_ASSERT_OK(arena.Allocate(65).status());
  EXPECT_EQ(arena.bytes(), 64 + 128);
}

TEST(HugePageArenaTest, ServesRequestsLargerThanARegion) {
  HugePageArena arena;
  PHYLLO_ASSERT_OK_AND_ASSIGN(absl::Span<uint8_t> small, arena.AllocateSpan<uint8_t>(100));
  PHYLLO_ASSERT_OK_AND_ASSIGN(absl::Span<uint8_t> large,
                              arena.AllocateSpan<uint8_t>(int64_t{200} << 20));
  PHYLLO_ASSERT_OK_AND_ASSIGN(absl::Span<uint8_t> next, arena.AllocateSpan<uint8_t>(100));
  large.front() = 1;
  large.back() = 2;
  EXPECT_EQ(next.data(), small.data() + 128) << "the rest of the first region is still used";
  EXPECT_EQ(next.front(), 0);
}

TEST(HugePageArenaTest, ReturnsResourceExhaustedWhenTheKernelRefuses) {
  HugePageArena arena;
  EXPECT_THAT(arena.Allocate(int64_t{1} << 60), StatusIs(absl::StatusCode::kResourceExhausted));
  PHYLLO_EXPECT_OK(arena.Allocate(64).status());
}

TEST(HugePageArenaTest, KeepsMemoryWhenMoved) {
  HugePageArena arena;
  PHYLLO_ASSERT_OK_AND_ASSIGN(absl::Span<int32_t> values, arena.AllocateSpan<int32_t>(10));
  values[3] = 42;
  HugePageArena moved = std::move(arena);
  EXPECT_EQ(values[3], 42);
  EXPECT_EQ(moved.bytes(), 64);
}

TEST(HugePageArenaTest, HandsOutWhatItWasFilledWith) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(HugePageArena arena, HugePageArena::Create(1000));
  ASSERT_GE(arena.rest().size(), 1000u);
  std::memset(arena.rest().data(), 7, 1000);
  PHYLLO_ASSERT_OK_AND_ASSIGN(absl::Span<uint8_t> first, arena.AllocateSpan<uint8_t>(100));
  PHYLLO_ASSERT_OK_AND_ASSIGN(absl::Span<uint8_t> second, arena.AllocateSpan<uint8_t>(100));
  EXPECT_EQ(first.front(), 7);
  EXPECT_EQ(second.data(), first.data() + 128);
}

TEST(HugePageArenaTest, ListsWhatItHandedOutInOrder) {
  HugePageArena arena;
  EXPECT_TRUE(arena.used().empty());
  PHYLLO_ASSERT_OK_AND_ASSIGN(std::byte* const first, arena.Allocate(100));
  PHYLLO_ASSERT_OK(arena.Allocate(0).status());
  PHYLLO_ASSERT_OK(arena.Allocate(1).status());
  PHYLLO_ASSERT_OK_AND_ASSIGN(std::byte* const large, arena.Allocate(int64_t{200} << 20));
  PHYLLO_ASSERT_OK_AND_ASSIGN(std::byte* const last, arena.Allocate(64));
  ASSERT_EQ(arena.used().size(), 3u);
  EXPECT_EQ(arena.used()[0].data(), first);
  EXPECT_EQ(arena.used()[0].size(), 192u) << "neighbours are one piece";
  EXPECT_EQ(arena.used()[1].data(), large);
  EXPECT_EQ(arena.used()[2].data(), last);
  EXPECT_EQ(192 + (int64_t{200} << 20) + 64, arena.bytes());
}

TEST(HugePageArenaTest, HandsOutAMappingBeforeMemoryOfItsOwn) {
  constexpr size_t kSize = 4096;
  void* const mapping = mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  const absl::Span<std::byte> bytes(static_cast<std::byte*>(mapping), kSize);
  HugePageArena arena = HugePageArena::OfMapping(bytes, bytes.subspan(64));
  PHYLLO_ASSERT_OK_AND_ASSIGN(std::byte* const inside, arena.Allocate(kSize - 64));
  EXPECT_EQ(inside, bytes.data() + 64);
  PHYLLO_ASSERT_OK_AND_ASSIGN(std::byte* const outside, arena.Allocate(64));
  *outside = std::byte{1};
}

}  // namespace
}  // namespace phyllo
