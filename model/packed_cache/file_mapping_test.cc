#include "model/packed_cache/file_mapping.h"

#include <string>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

constexpr char kSmaps[] =
    "7f2a00000000-7f2a04000000 r--s 00200000 fe:00 42    /m/.phyllo/a-b.packed\n"
    "Size:              65536 kB\n"
    "FilePmdMapped:     40960 kB\n"
    "VmFlags: rd sh mr me ms hg\n"
    "7f2a04000000-7f2a05000000 rw-p 00000000 00:00 0 \n"
    "Size:              16384 kB\n"
    "7f2a05000000-7f2a06000000 r--s 00000000 fe:00 43    /m/other\n"
    "FilePmdMapped:         0 kB\n";

TEST(FileMappingTest, FindsTheHugePagesOfOneMapping) {
  EXPECT_EQ(ParseHugeFileBytes(kSmaps, 0x7f2a00000000), int64_t{40} << 20);
  EXPECT_EQ(ParseHugeFileBytes(kSmaps, 0x7f2a05000000), 0);
}

TEST(FileMappingTest, IsZeroWhereTheTextDoesNotSay) {
  EXPECT_EQ(ParseHugeFileBytes(kSmaps, 0x7f2a04000000), 0) << "no such line";
  EXPECT_EQ(ParseHugeFileBytes(kSmaps, 0x7f2a00000), 0) << "no such mapping";
  EXPECT_EQ(ParseHugeFileBytes("", 0x7f2a00000000), 0);
}

TEST(FileMappingTest, ReadsThatOfThisProcess) {
  const int on_the_stack = 0;
  EXPECT_EQ(ReadHugeFileBytes(&on_the_stack), 0);
}

}  // namespace
}  // namespace phyllo
