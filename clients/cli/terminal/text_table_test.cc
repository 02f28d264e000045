#include "clients/cli/terminal/text_table.h"

#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(TextTableTest, ColumnsAreAsWideAsTheirLongestCell) {
  EXPECT_EQ(FormatTable({{"A", "B"}, {"long", "x"}, {"y", "zz"}}), "A     B\nlong  x\ny     zz\n");
}

TEST(TextTableTest, RowsMayBeShort) { EXPECT_EQ(FormatTable({{"A", "B"}, {"x"}}), "A  B\nx\n"); }

TEST(TextTableTest, NothingGivesNothing) { EXPECT_EQ(FormatTable({}), ""); }

}  // namespace
}  // namespace phyllo
