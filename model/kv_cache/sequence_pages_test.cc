#include "model/kv_cache/sequence_pages.h"

#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/kv_cache/layer_groups.h"

namespace phyllo {
namespace {

// Two groups with pages of 4 tokens: one sees everything, one a window of 6.
class SequencePagesTest : public testing::Test {
 protected:
  PageAllocator full_{20};
  PageAllocator windowed_{4};
  const std::vector<KvPageGroup> groups_ = {{&full_, std::nullopt}, {&windowed_, 6}};
  SequencePages pages_{groups_, /*page_size=*/4};
};

TEST_F(SequencePagesTest, GrowsAllGroupsAlike) {
  PHYLLO_ASSERT_OK(pages_.Resize(9));
  EXPECT_EQ(pages_.page_count(), 3);
  EXPECT_EQ(pages_.token_capacity(), 12);
  EXPECT_EQ(full_.free_count(), 17);
  EXPECT_EQ(windowed_.free_count(), 1);
}

TEST_F(SequencePagesTest, GivesBackWhatTheWindowHasLeft) {
  PHYLLO_ASSERT_OK(pages_.Resize(12));
  pages_.ReleaseBefore(8);  // a query at 8 sees 3 to 8
  EXPECT_EQ(windowed_.free_count(), 1);
  pages_.ReleaseBefore(9);  // 4 to 9
  EXPECT_EQ(windowed_.free_count(), 2);
  EXPECT_EQ(pages_.table(1).page_ids()[0], PageTable::kReleased);
  EXPECT_EQ(pages_.table(1).released_count(), 1);
  EXPECT_EQ(pages_.table(0).released_count(), 0);
  EXPECT_EQ(full_.free_count(), 17);
}

TEST_F(SequencePagesTest, ALongSequenceHoldsNoMoreThanWindowAndChunk) {
  constexpr int64_t kChunk = 5;
  for (int64_t first = 0; first + kChunk <= 80; first += kChunk) {
    pages_.ReleaseBefore(first);
    PHYLLO_ASSERT_OK(pages_.Resize(first + kChunk));
    EXPECT_LE(pages_.table(1).held_count(), MostHeldPages(6, 80, kChunk, 4));
  }
  EXPECT_EQ(pages_.page_count(), 20);
  EXPECT_EQ(pages_.table(0).held_count(), 20);
}

TEST_F(SequencePagesTest, IsUnchangedWhenOneGroupRunsOut) {
  PHYLLO_ASSERT_OK(pages_.Resize(8));
  EXPECT_THAT(pages_.Resize(20), StatusIs(absl::StatusCode::kResourceExhausted,
                                          testing::HasSubstr("no free KV page")));
  EXPECT_EQ(pages_.page_count(), 2);
  EXPECT_EQ(full_.free_count(), 18);
  EXPECT_EQ(windowed_.free_count(), 2);
}

TEST_F(SequencePagesTest, GivesEverythingBackWhenCleared) {
  PHYLLO_ASSERT_OK(pages_.Resize(12));
  pages_.ReleaseBefore(11);
  pages_.Clear();
  EXPECT_EQ(pages_.page_count(), 0);
  EXPECT_EQ(full_.free_count(), 20);
  EXPECT_EQ(windowed_.free_count(), 4);
  EXPECT_EQ(pages_.table(1).released_count(), 0);
}

}  // namespace
}  // namespace phyllo
