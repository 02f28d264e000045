#include "clients/cli/terminal/byte_count.h"

#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(ByteCountTest, SmallCountsAreExact) {
  EXPECT_EQ(FormatByteCount(0), "0 B");
  EXPECT_EQ(FormatByteCount(1023), "1023 B");
}

TEST(ByteCountTest, LargerCountsTakeTheNextUnit) {
  EXPECT_EQ(FormatByteCount(1024), "1.0 KiB");
  EXPECT_EQ(FormatByteCount(int64_t{3} << 29), "1.5 GiB");
}

TEST(ByteCountTest, TheLargestUnitTakesTheRest) {
  EXPECT_EQ(FormatByteCount(int64_t{5000} << 40), "5000.0 TiB");
}

}  // namespace
}  // namespace phyllo
