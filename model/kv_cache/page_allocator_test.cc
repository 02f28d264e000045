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

TEST(PageAllocatorTest, ARememberedPageIsFreeAndCanBeRevived) {
  PageAllocator allocator(2);
  PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle page, allocator.Allocate());
  const int32_t page_id = page.page_id();
  allocator.Remember(page_id);
  EXPECT_TRUE(allocator.InUse(page_id));
  page = PageHandle();
  EXPECT_FALSE(allocator.InUse(page_id));
  EXPECT_EQ(allocator.free_count(), 2);
  const PageHandle first = allocator.Revive(page_id);
  const PageHandle second = allocator.Revive(page_id);
  EXPECT_EQ(first.page_id(), page_id);
  EXPECT_EQ(allocator.free_count(), 1);
}

TEST(PageAllocatorTest, ForgetsTheLongestFreeOneWhenNoOtherPageIsLeft) {
  PageAllocator allocator(4);
  std::vector<int32_t> forgotten;
  allocator.set_on_forgotten([&](int32_t page_id) { forgotten.push_back(page_id); });
  std::vector<PageHandle> pages;
  for (int i = 0; i < 3; ++i) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle page, allocator.Allocate());
    allocator.Remember(page.page_id());
    pages.push_back(std::move(page));
  }
  const std::vector<int32_t> ids = {pages[0].page_id(), pages[1].page_id(), pages[2].page_id()};
  for (const int i : {1, 0, 2}) pages[i] = PageHandle();
  pages[0] = allocator.Revive(ids[0]);  // used again, so that it is the last in line
  pages[0] = PageHandle();
  std::vector<int32_t> taken;
  for (int i = 0; i < 4; ++i) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle page, allocator.Allocate());
    taken.push_back(page.page_id());
    pages.push_back(std::move(page));
  }
  EXPECT_EQ(forgotten, (std::vector<int32_t>{ids[1], ids[2], ids[0]}));
  EXPECT_EQ((std::vector<int32_t>{taken.begin() + 1, taken.end()}), forgotten);
  EXPECT_THAT(allocator.Allocate(), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(PageAllocatorTest, AForgottenPageIsAnOrdinaryOne) {
  PageAllocator allocator(2);
  int forgotten = 0;
  allocator.set_on_forgotten([&](int32_t) { ++forgotten; });
  PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle used, allocator.Allocate());
  PHYLLO_ASSERT_OK_AND_ASSIGN(PageHandle free, allocator.Allocate());
  const int32_t free_id = free.page_id();
  allocator.Remember(used.page_id());
  allocator.Remember(free_id);
  free = PageHandle();
  allocator.Forget(free_id);
  allocator.Forget(used.page_id());
  used = PageHandle();
  EXPECT_EQ(allocator.free_count(), 2);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PageHandle first, allocator.Allocate());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PageHandle second, allocator.Allocate());
  EXPECT_EQ(forgotten, 0);
}

TEST(PageAllocatorTest, CountsPagesThatOneAloneRefersTo) {
  PageAllocator allocator(3);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PageHandle sole, allocator.Allocate());
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PageHandle shared, allocator.Allocate());
  const PageHandle other = shared.Share();
  EXPECT_EQ(allocator.CountSole({sole.page_id(), shared.page_id(), -1}), 1);
}

}  // namespace
}  // namespace phyllo
