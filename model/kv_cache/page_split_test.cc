#include "model/kv_cache/page_split.h"

#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const KvLayerGroups kFull = {.windows = {std::nullopt}, .group_of_layer = {0, 0}};
// Of six layers, five see 64 tokens.
const KvLayerGroups kMixed = {.windows = {64, std::nullopt}, .group_of_layer = {0, 0, 0, 0, 0, 1}};

constexpr KvBudget kBudget = {
    .page_size = 16, .max_sequence_length = 1600, .max_sequences = 4, .max_rows = 32};

KvBudget WithPages(int64_t layer_page_count) {
  KvBudget budget = kBudget;
  budget.layer_page_count = layer_page_count;
  return budget;
}

TEST(SplitKvPagesTest, GivesOneGroupEverythingUpToWhatItCanUse) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(std::vector<int64_t> counts, SplitKvPages(kFull, WithPages(75)));
  EXPECT_THAT(counts, ElementsAre(37));
  PHYLLO_ASSERT_OK_AND_ASSIGN(counts, SplitKvPages(kFull, WithPages(451)));
  EXPECT_THAT(counts, ElementsAre(225));
  PHYLLO_ASSERT_OK_AND_ASSIGN(counts, SplitKvPages(kFull, WithPages(100000)));
  EXPECT_THAT(counts, ElementsAre(400));  // 4 sequences of 100 pages
}

TEST(SplitKvPagesTest, GivesAWindowOnlyWhatItCanHold) {
  const KvLayerGroups windowed = {.windows = {64}, .group_of_layer = {0, 0}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> counts,
                              SplitKvPages(windowed, WithPages(100000)));
  EXPECT_THAT(counts, ElementsAre(4 * 7));  // 64 + 32 - 1 tokens touch up to 7 pages
}

TEST(SplitKvPagesTest, MakesRoomForOneLongSequenceFirst) {
  // One sequence of 100 pages needs 5 * 7 + 100; 4 of one length then take what is left.
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> counts,
                              SplitKvPages(kMixed, WithPages(135)));
  EXPECT_THAT(counts, ElementsAre(7, 100));
}

TEST(SplitKvPagesTest, ThenForSeveralOfOneLength) {
  // 4 sequences of 5 pages: 5 layers of 20, and the long one's 100 beside them; the rest, 3 pages
  // of a layer, is for the layers that see everything.
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> counts,
                              SplitKvPages(kMixed, WithPages(203)));
  EXPECT_THAT(counts, ElementsAre(20, 103));
}

TEST(SplitKvPagesTest, ShortensTheSequenceWhereMemoryIsScarce) {
  // 50 pages of a layer: 5 * 7 for the window and 15 for the layer that sees everything.
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> counts,
                              SplitKvPages(kMixed, WithPages(50)));
  EXPECT_THAT(counts, ElementsAre(7, 15));
}

TEST(SplitKvPagesTest, NamesTheCountsWhenThereIsNoRoom) {
  EXPECT_THAT(SplitKvPages(kMixed, WithPages(5)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("room for 5 pages of a layer, 6 layers need one each")));
}

}  // namespace
}  // namespace phyllo
