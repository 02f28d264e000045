#include "model/kv_cache/page_allocator.h"

#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(PageAllocatorTest, ReturnsEveryPageOnceUntilEmpty) {
  PageAllocator allocator(5);
  std::vector<PageHandle> pages;
  std::set<int32_t> page_ids;
  for (int i = 0; i < 5; ++i) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle page, allocator.Allocate());
    page_ids.insert(page.page_id());
    pages.push_back(std::move(page));
  }
  EXPECT_EQ(page_ids, (std::set<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(allocator.free_count(), 0);
}

TEST(PageAllocatorTest, ReturnsResourceExhaustedWhenEmpty) {
  PageAllocator allocator(1);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PageHandle page, allocator.Allocate());
  EXPECT_THAT(allocator.Allocate(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("all 1 pages")));
}

TEST(PageAllocatorTest, ReturnsResourceExhaustedWhenThePoolHasNoPages) {
  PageAllocator allocator(0);
  EXPECT_THAT(allocator.Allocate(), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(PageAllocatorTest, FreesThePageWhenItsHandleIsDestroyed) {
  PageAllocator allocator(1);
  { PHYLLO_ASSERT_OK_AND_ASSIGN(const PageHandle page, allocator.Allocate()); }
  EXPECT_EQ(allocator.free_count(), 1);
  PHYLLO_EXPECT_OK(allocator.Allocate());
}

TEST(PageAllocatorTest, KeepsASharedPageUntilTheLastHandleIsDestroyed) {
  PageAllocator allocator(1);
  PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle first, allocator.Allocate());
  PageHandle second = first.Share();
  EXPECT_EQ(second.page_id(), first.page_id());
  first = PageHandle();
  EXPECT_EQ(allocator.free_count(), 0);
  second = PageHandle();
  EXPECT_EQ(allocator.free_count(), 1);
}

TEST(PageAllocatorTest, CountsAMovedHandleOnce) {
  PageAllocator allocator(1);
  PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle first, allocator.Allocate());
  PageHandle second = std::move(first);
  first = PageHandle();
  EXPECT_EQ(allocator.free_count(), 0);
  EXPECT_EQ(second.page_id(), 0);
}

TEST(PageAllocatorTest, LosesNoPageWhenThreadsAllocateAndFree) {
  PageAllocator allocator(8);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator] {
      for (int i = 0; i < 1000; ++i) {
        absl::StatusOr<PageHandle> page = allocator.Allocate();
        ASSERT_THAT(page, IsOk());
        const PageHandle shared = page->Share();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.free_count(), 8);
}

}  // namespace
}  // namespace phyllo
