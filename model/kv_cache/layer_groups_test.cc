#include "model/kv_cache/layer_groups.h"

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Windows = std::vector<std::optional<int64_t>>;

TEST(KvLayerGroupsTest, PutsLayersOfOneWindowTogether) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const KvLayerGroups groups,
                              KvLayerGroups::Create(Windows{64, 64, std::nullopt, 64}));
  EXPECT_THAT(groups.windows, ElementsAre(64, std::nullopt));
  EXPECT_THAT(groups.group_of_layer, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(groups.LayerCount(0), 3);
  EXPECT_EQ(groups.LayerCount(1), 1);
}

TEST(KvLayerGroupsTest, NamesWhatIsOutOfRange) {
  EXPECT_THAT(KvLayerGroups::Create(Windows{1, 2, 3, 4, 5}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("5 different")));
  EXPECT_THAT(KvLayerGroups::Create(Windows{8, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window is 0")));
  EXPECT_THAT(KvLayerGroups::Create(Windows{}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 layers")));
}

TEST(FirstVisiblePageTest, IsThatOfTheOldestKeyInTheWindow) {
  EXPECT_EQ(FirstVisiblePage(std::nullopt, 1000, 16), 0);
  EXPECT_EQ(FirstVisiblePage(16, 15, 16), 0);
  EXPECT_EQ(FirstVisiblePage(16, 30, 16), 0);  // sees positions 15 to 30
  EXPECT_EQ(FirstVisiblePage(16, 31, 16), 1);  // sees positions 16 to 31
  EXPECT_EQ(FirstVisiblePage(1, 32, 16), 2);
}

// Against a sequence that gives back and takes pages step by step.
TEST(MostHeldPagesTest, IsWhatASequenceHoldsAtItsLargest) {
  for (const int64_t window : {1, 2, 15, 16, 17, 40}) {
    for (const int64_t rows : {1, 3, 16, 33}) {
      int64_t largest = 0;
      for (int64_t offset = 0; offset < 16; ++offset) {  // chunks may begin anywhere in a page
        for (int64_t first = offset; first < 300; first += rows) {
          const int64_t end_page = (first + rows + 15) / 16;
          largest = std::max(largest, end_page - FirstVisiblePage(window, first, 16));
        }
      }
      EXPECT_EQ(MostHeldPages(window, 400, rows, 16), largest) << window << ", " << rows;
    }
  }
  EXPECT_EQ(MostHeldPages(40, 17, 8, 16), 2);
  EXPECT_EQ(MostHeldPages(std::nullopt, 1601, 8, 16), 101);
}

}  // namespace
}  // namespace phyllo
