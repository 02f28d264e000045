#include "model/kv_cache/kv_cache.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/kv_cache/layer_groups.h"
#include "model/ops/attention.h"
#include "model/tensor/linear_input.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

constexpr KvLayout kLayout = {
    .num_key_value_heads = 3, .head_dim = 5, .page_size = 16, .precision = Precision::kBf16};

// A cache of layers that all see everything.
absl::StatusOr<std::unique_ptr<KvCache>> CreateOneGroup(const KvLayout& layout, int64_t layer_count,
                                                        int64_t page_count) {
  const KvLayerGroups groups = {.windows = {std::nullopt},
                                .group_of_layer = std::vector<int64_t>(layer_count, 0)};
  return KvCache::Create(layout, groups, {page_count});
}

TEST(KvCacheTest, StatesItsBytesPerToken) {
  KvLayout layout = kLayout;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto bf16_cache, CreateOneGroup(layout, 7, 4));
  EXPECT_EQ(bf16_cache->bytes_per_token(), 7 * 2 * 3 * 6 * 2);  // an odd head_dim is made even
  layout.precision = Precision::kF32;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto f32_cache, CreateOneGroup(layout, 7, 4));
  EXPECT_EQ(f32_cache->bytes_per_token(), 7 * 2 * 3 * 5 * 4);
  layout.precision = Precision::kInt8;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto int8_cache, CreateOneGroup(layout, 7, 4));
  EXPECT_EQ(int8_cache->bytes_per_token(), 7 * 2 * 3 * (5 + 4));  // a scale for each head
}

TEST(KvCacheTest, GivesEveryPageOfEveryLayerItsOwnAlignedMemory) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto cache, CreateOneGroup(kLayout, 3, 4));
  const auto value_of = [](int64_t layer, int32_t page) {
    return static_cast<int>(1 + layer * 4 + page);
  };
  for (int64_t layer = 0; layer < 3; ++layer) {
    for (int32_t page = 0; page < 4; ++page) {
      std::byte* const data = cache->layer(layer).Page(page);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0);
      std::memset(data, value_of(layer, page), kLayout.page_bytes());
    }
  }
  for (int64_t layer = 0; layer < 3; ++layer) {
    for (int32_t page = 0; page < 4; ++page) {
      const std::byte* const data = cache->layer(layer).Page(page);
      EXPECT_EQ(data[0], std::byte(value_of(layer, page)));
      EXPECT_EQ(data[kLayout.page_bytes() - 1], std::byte(value_of(layer, page)));
    }
  }
}

TEST(KvCacheTest, KeepsTheLayersOfAPageTogether) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto cache, CreateOneGroup(kLayout, 3, 4));
  const int64_t stride = KvCache::PageStride(kLayout);
  const std::byte* const first = cache->layer(0).Page(0);
  for (int64_t layer = 0; layer < 3; ++layer) {
    for (int32_t page = 0; page < 4; ++page)
      EXPECT_EQ(cache->layer(layer).Page(page) - first, (page * 3 + layer) * stride);
  }
}

TEST(KvCacheTest, MakesAsManyPagesAsAskedFor) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto cache, CreateOneGroup(kLayout, 3, 4));
  EXPECT_EQ(cache->page_groups()[0].allocator->page_count(), 4);
  EXPECT_EQ(cache->page_groups()[0].allocator->free_count(), 4);
}

TEST(KvCacheTest, GivesEachGroupPagesOfItsOwn) {
  const KvLayerGroups groups = {.windows = {std::nullopt, 32}, .group_of_layer = {0, 1, 1, 0}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto cache, KvCache::Create(kLayout, groups, {3, 5}));
  ASSERT_EQ(cache->page_groups().size(), 2);
  EXPECT_EQ(cache->page_groups()[0].allocator->page_count(), 3);
  EXPECT_EQ(cache->page_groups()[1].allocator->page_count(), 5);
  EXPECT_EQ(cache->page_groups()[0].window, std::nullopt);
  EXPECT_EQ(cache->page_groups()[1].window, 32);
  for (int64_t layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(cache->group_of_layer(layer), groups.group_of_layer[layer]);
    for (int32_t page = 0; page < (layer == 0 || layer == 3 ? 3 : 5); ++page)
      std::memset(cache->layer(layer).Page(page), 10 * (layer + 1) + page, kLayout.page_bytes());
  }
  for (int64_t layer = 0; layer < 4; ++layer) {
    for (int32_t page = 0; page < (layer == 0 || layer == 3 ? 3 : 5); ++page)
      EXPECT_EQ(cache->layer(layer).Page(page)[7], std::byte(10 * (layer + 1) + page));
  }
}

TEST(KvCacheTest, CopiesAPageInAllLayersOfItsGroupOnly) {
  const KvLayerGroups groups = {.windows = {std::nullopt, 32}, .group_of_layer = {0, 1, 0}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto cache, KvCache::Create(kLayout, groups, {3, 3}));
  for (int64_t layer = 0; layer < 3; ++layer) {
    for (int32_t page = 0; page < 3; ++page)
      std::memset(cache->layer(layer).Page(page), 10 * (layer + 1) + page, kLayout.page_bytes());
  }
  cache->CopyPage(/*group=*/0, /*source=*/2, /*target=*/1);
  for (const int64_t layer : {0, 2}) {
    const std::byte* const page = cache->layer(layer).Page(1);
    EXPECT_EQ(page[0], std::byte(10 * (layer + 1) + 2));
    EXPECT_EQ(page[kLayout.page_bytes() - 1], std::byte(10 * (layer + 1) + 2));
    EXPECT_EQ(cache->layer(layer).Page(0)[0], std::byte(10 * (layer + 1)));
  }
  EXPECT_EQ(cache->layer(1).Page(1)[0], std::byte(21));
}

TEST(KvCacheTest, NamesTheSizeThatIsOutOfRange) {
  EXPECT_THAT(CreateOneGroup(kLayout, 0, 4),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("number of layers is 0")));
  EXPECT_THAT(CreateOneGroup(kLayout, 3, -1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_count is -1")));
  KvLayout layout = kLayout;
  layout.head_dim = 0;
  EXPECT_THAT(CreateOneGroup(layout, 3, 4),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("head_dim")));
}

TEST(KvCacheTest, ReturnsResourceExhaustedWhenTheBytesExceedTheAddressSpace) {
  const KvLayout layout = {.num_key_value_heads = 1 << 16, .head_dim = 512, .page_size = 128};
  EXPECT_THAT(CreateOneGroup(layout, 1 << 16, std::numeric_limits<int32_t>::max()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("address space")));
}

}  // namespace
}  // namespace phyllo
