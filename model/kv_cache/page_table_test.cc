#include "model/kv_cache/page_table.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(PageTableTest, HoldsAsManyPagesAsTheTokensNeed) {
  PageAllocator allocator(10);
  PageTable pages(allocator, /*page_size=*/4);
  const std::vector<std::pair<int64_t, size_t>> cases = {{0, 0}, {1, 1},  {4, 1}, {5, 2},
                                                         {8, 2}, {33, 9}, {3, 1}};
  for (const auto& [token_count, page_count] : cases) {
    PHYLLO_ASSERT_OK(pages.Resize(token_count));
    EXPECT_EQ(pages.page_ids().size(), page_count) << token_count << " tokens";
    EXPECT_EQ(allocator.free_count(), 10 - page_count) << token_count << " tokens";
  }
}

TEST(PageTableTest, KeepsItsPagesWhenItGrows) {
  PageAllocator allocator(4);
  PageTable pages(allocator, 2);
  PHYLLO_ASSERT_OK(pages.Resize(3));
  const std::vector<int32_t> before(pages.page_ids().begin(), pages.page_ids().end());
  PHYLLO_ASSERT_OK(pages.Resize(7));
  EXPECT_EQ(pages.page_ids().subspan(0, 2), absl::MakeConstSpan(before));
}

TEST(PageTableTest, IsUnchangedWhenThePoolRunsOut) {
  PageAllocator allocator(3);
  PageTable pages(allocator, 4);
  PHYLLO_ASSERT_OK(pages.Resize(4));
  EXPECT_THAT(pages.Resize(20), StatusIs(absl::StatusCode::kResourceExhausted,
                                         HasSubstr("20 tokens need 5 pages of 4")));
  EXPECT_EQ(pages.page_ids().size(), 1);
  EXPECT_EQ(pages.token_capacity(), 4);
  EXPECT_EQ(allocator.free_count(), 2);
}

TEST(PageTableTest, SharesPagesWithAnotherSequence) {
  PageAllocator allocator(3);
  PageTable first(allocator, 4);
  PHYLLO_ASSERT_OK(first.Resize(4));
  PageTable second(allocator, 4);
  second.AppendShared(first.page(0).Share());
  PHYLLO_ASSERT_OK(second.Resize(5));
  EXPECT_EQ(second.page_ids()[0], first.page_ids()[0]);
  first.Clear();
  EXPECT_EQ(allocator.free_count(), 1);
  second.Clear();
  EXPECT_EQ(allocator.free_count(), 3);
}

TEST(PageTableTest, GivesItsPagesBackWhenDestroyed) {
  PageAllocator allocator(3);
  {
    PageTable pages(allocator, 4);
    PHYLLO_ASSERT_OK(pages.Resize(12));
    EXPECT_EQ(allocator.free_count(), 0);
  }
  EXPECT_EQ(allocator.free_count(), 3);
}

}  // namespace
}  // namespace phyllo
