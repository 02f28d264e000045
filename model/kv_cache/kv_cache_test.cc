#include "model/kv_cache/kv_cache.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/ops/attention.h"
#include "model/tensor/linear_input.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

constexpr KvLayout kLayout = {
    .num_key_value_heads = 3, .head_dim = 5, .page_size = 16, .precision = Precision::kBf16};

TEST(KvCacheTest, StatesItsBytesPerToken) {
  KvLayout layout = kLayout;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto bf16_cache,
                              KvCache::Create(layout, /*num_hidden_layers=*/7, /*page_count=*/4));
  EXPECT_EQ(bf16_cache->bytes_per_token(), 7 * 2 * 3 * 5 * 2);
  layout.precision = Precision::kF32;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto f32_cache, KvCache::Create(layout, 7, 4));
  EXPECT_EQ(f32_cache->bytes_per_token(), 7 * 2 * 3 * 5 * 4);
}

TEST(KvCacheTest, GivesEveryPageOfEveryLayerItsOwnAlignedMemory) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto cache,
                              KvCache::Create(kLayout, /*num_hidden_layers=*/3, /*page_count=*/4));
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

TEST(KvCacheTest, MakesAsManyPagesAsAskedFor) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto cache, KvCache::Create(kLayout, 3, 4));
  EXPECT_EQ(cache->allocator().page_count(), 4);
  EXPECT_EQ(cache->allocator().free_count(), 4);
}

TEST(KvCacheTest, NamesTheSizeThatIsOutOfRange) {
  EXPECT_THAT(KvCache::Create(kLayout, 0, 4),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_hidden_layers is 0")));
  EXPECT_THAT(KvCache::Create(kLayout, 3, -1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_count is -1")));
  KvLayout layout = kLayout;
  layout.head_dim = 0;
  EXPECT_THAT(KvCache::Create(layout, 3, 4),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("head_dim")));
}

TEST(KvCacheTest, ReturnsResourceExhaustedWhenTheBytesExceedTheAddressSpace) {
  const KvLayout layout = {.num_key_value_heads = 1 << 16, .head_dim = 512, .page_size = 128};
  EXPECT_THAT(KvCache::Create(layout, 1 << 16, std::numeric_limits<int32_t>::max()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("address space")));
}

}  // namespace
}  // namespace phyllo
