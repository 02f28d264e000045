#include "model/tokenizer/sentencepiece/protobuf_wire.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(WireReaderTest, ReadsEveryKind) {
  const std::string message(
      "\x08\x96\x01\x12\x03"
      "abc\x1D\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08",
      22);
  WireReader reader(message);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const WireField varint, reader.Next());
  EXPECT_EQ(varint.tag, 1);
  EXPECT_EQ(varint.number, 150u);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const WireField bytes, reader.Next());
  EXPECT_EQ(bytes.tag, 2);
  EXPECT_EQ(bytes.kind, WireField::Kind::kBytes);
  EXPECT_EQ(bytes.bytes, "abc");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const WireField fixed32, reader.Next());
  EXPECT_EQ(fixed32.kind, WireField::Kind::kFixed32);
  EXPECT_EQ(fixed32.number, 0x04030201u);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const WireField fixed64, reader.Next());
  EXPECT_EQ(fixed64.kind, WireField::Kind::kFixed64);
  EXPECT_EQ(fixed64.number, 0x0807060504030201u);
  EXPECT_TRUE(reader.AtEnd());
}

TEST(WireReaderTest, CutOffFieldsAreErrors) {
  for (const absl::string_view message : {"\x08", "\x08\x96",
                                          "\x12\x03"
                                          "ab",
                                          "\x1D\x01", "\x21\x01"}) {
    EXPECT_THAT(WireReader(message).Next(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cut off")));
  }
}

TEST(WireReaderTest, LongVarintsTagZeroAndGroupsAreErrors) {
  const auto status = [](absl::string_view message) { return WireReader(message).Next().status(); };
  EXPECT_THAT(status("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("10 bytes")));
  EXPECT_THAT(status(absl::string_view("\0\0", 2)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tag 0")));
  EXPECT_THAT(status("\x0B"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("wire type 3")));
}

}  // namespace
}  // namespace phyllo
