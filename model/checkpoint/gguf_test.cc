#include "model/checkpoint/gguf.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/tensor_view.h"
#include "model/checkpoint/testing/gguf_bytes.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4_0 = 2;
constexpr uint32_t kArrayType = 9;

absl::StatusOr<GgufContents> Parse(const std::string& file) {
  return ParseGguf(AsBytes(file), "m.gguf");
}

void ExpectInvalid(const std::string& file, absl::string_view message) {
  EXPECT_THAT(Parse(file),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message))));
}

std::string Replaced(std::string file, size_t offset, absl::string_view bytes) {
  file.replace(offset, bytes.size(), std::string(bytes));
  return file;
}

TEST(GgufTest, ReadsScalarsOfEveryType) {
  const std::string file = GgufBytes()
                               .Raw("u8", 0, LittleEndian(uint8_t{200}))
                               .Raw("i8", 1, LittleEndian(int8_t{-3}))
                               .Raw("u16", 2, LittleEndian(uint16_t{60000}))
                               .Raw("i16", 3, LittleEndian(int16_t{-300}))
                               .Raw("u32", 4, LittleEndian(uint32_t{4000000000}))
                               .Raw("i32", 5, LittleEndian(int32_t{-70000}))
                               .Raw("f32", 6, LittleEndian(0.5f))
                               .Raw("bool", 7, LittleEndian(uint8_t{1}))
                               .Raw("text", 8, GgufString("abc"))
                               .Raw("u64", 10, LittleEndian(~uint64_t{0}))
                               .Raw("i64", 11, LittleEndian(int64_t{-1} << 40))
                               .Raw("f64", 12, LittleEndian(0.25))
                               .Finish();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GgufContents contents, Parse(file));
  EXPECT_EQ(contents.version, 3u);
  EXPECT_EQ(contents.Find("u8")->integer, 200);
  EXPECT_EQ(contents.Find("i8")->integer, -3);
  EXPECT_EQ(contents.Find("u16")->integer, 60000);
  EXPECT_EQ(contents.Find("i16")->integer, -300);
  EXPECT_EQ(contents.Find("u32")->integer, 4000000000);
  EXPECT_EQ(contents.Find("i32")->integer, -70000);
  EXPECT_EQ(contents.Find("f32")->number, 0.5);
  EXPECT_TRUE(contents.Find("bool")->boolean);
  EXPECT_EQ(contents.Find("text")->text, "abc");
  EXPECT_EQ(contents.Find("u64")->integer, INT64_MAX);
  EXPECT_EQ(contents.Find("i64")->integer, int64_t{-1} << 40);
  EXPECT_EQ(contents.Find("f64")->number, 0.25);
  EXPECT_EQ(contents.Find("other"), nullptr);
}

TEST(GgufTest, ReadsArrays) {
  const std::string file = GgufBytes()
                               .Texts("texts", {"a", "", "bc"})
                               .Int32s("integers", {1, -2})
                               .Float32s("numbers", {0.5f})
                               .Finish();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GgufContents contents, Parse(file));
  EXPECT_THAT(contents.Find("texts")->texts, ElementsAre("a", "", "bc"));
  EXPECT_THAT(contents.Find("integers")->integers, ElementsAre(1, -2));
  EXPECT_THAT(contents.Find("numbers")->numbers, ElementsAre(0.5));
}

// An array of `depth` arrays inside each other, the innermost of no uint8.
std::string NestedArray(int depth) {
  std::string bytes;
  for (int i = 1; i < depth; ++i) bytes += LittleEndian(kArrayType) + LittleEndian(uint64_t{1});
  return bytes + LittleEndian(uint32_t{0}) + LittleEndian(uint64_t{0});
}

TEST(GgufTest, SkipsNestedArraysToALimit) {
  const std::string file =
      GgufBytes().Raw("nested", kArrayType, NestedArray(8)).Uint32("next", 5).Finish();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GgufContents contents, Parse(file));
  EXPECT_EQ(contents.Find("next")->integer, 5);
  ExpectInvalid(GgufBytes().Raw("nested", kArrayType, NestedArray(9)).Finish(),
                "nested deeper than 8");
}

TEST(GgufTest, ReadsTensorsWithShapesOutermostFirst) {
  const std::string data(2 * 3 * 4, '\x01');
  const std::string file = GgufBytes()
                               .Tensor("a", kF32, {2, 3}, data)
                               .Tensor("b", kQ4_0, {2, 64}, std::string(2 * 2 * 18, '\x02'))
                               .Finish();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GgufContents contents, Parse(file));
  ASSERT_EQ(contents.tensors.size(), 2u);
  EXPECT_EQ(contents.tensors[0].name, "a");
  EXPECT_EQ(contents.tensors[0].dtype, DType::kF32);
  EXPECT_THAT(contents.tensors[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(contents.tensors[0].data, AsBytes(data));
  EXPECT_EQ(contents.tensors[1].dtype, DType::kQ4_0);
  EXPECT_THAT(contents.tensors[1].shape, ElementsAre(2, 64));
  EXPECT_EQ(contents.tensors[1].data.size(), 72u);
}

TEST(GgufTest, ReadsVersion2) {
  const std::string file = Replaced(GgufBytes().Finish(), 4, LittleEndian(uint32_t{2}));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const GgufContents contents, Parse(file));
  EXPECT_EQ(contents.version, 2u);
  EXPECT_THAT(contents.tensors, IsEmpty());
}

TEST(GgufTest, OtherVersionsAreNamed) {
  const std::string file = GgufBytes().Finish();
  ExpectInvalid(Replaced(file, 4, LittleEndian(uint32_t{1})), "version 1 is not 2 or 3");
  ExpectInvalid(Replaced(file, 4, LittleEndian(uint32_t{4})), "version 4 is not 2 or 3");
  ExpectInvalid(Replaced(file, 4, LittleEndian(uint32_t{0x03000000})), "big-endian");
  ExpectInvalid(Replaced(file, 0, "GGML"), "does not begin with \"GGUF\"");
}

TEST(GgufTest, EveryTruncationIsAnError) {
  const std::string file = GgufBytes()
                               .Texts("texts", {"abc", "d"})
                               .Raw("nested", kArrayType, NestedArray(2))
                               .Text("t", "x")
                               .Tensor("a", kF32, {2, 4}, std::string(32, 'a'))
                               .Finish();
  ASSERT_THAT(Parse(file), IsOk());
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_THAT(Parse(file.substr(0, size)), StatusIs(absl::StatusCode::kInvalidArgument)) << size;
  }
}

TEST(GgufTest, CountsBeyondTheFileAreErrors) {
  const std::string file = GgufBytes().Texts("t", {"a"}).Finish();
  ExpectInvalid(Replaced(file, 8, LittleEndian(~uint64_t{0})), "the number of tensors is");
  ExpectInvalid(Replaced(file, 16, LittleEndian(uint64_t{1} << 60)), "the number of keys is");
  ExpectInvalid(
      GgufBytes()
          .Raw("t", kArrayType, LittleEndian(uint32_t{8}) + LittleEndian(uint64_t{1} << 61))
          .Finish(),
      "the array of key \"t\" is 2305843009213693952");
  ExpectInvalid(GgufBytes().Raw("t", 8, LittleEndian(~uint64_t{0})).Finish(),
                "the value of key \"t\" at byte");
}

TEST(GgufTest, UnknownValueTypeIsNamed) {
  ExpectInvalid(GgufBytes().Raw("k", 13, "").Uint32("x", 1).Finish(),
                "key \"k\": value type 13 is unknown");
}

TEST(GgufTest, NamesThereTwiceAreErrors) {
  ExpectInvalid(GgufBytes().Uint32("k", 1).Uint32("k", 1).Finish(), "key \"k\" is there twice");
  ExpectInvalid(GgufBytes().Zeros("a", {8}).Zeros("a", {8}).Finish(),
                "tensor \"a\" is there twice");
}

TEST(GgufTest, UnsupportedTensorTypeIsNamed) {
  EXPECT_THAT(Parse(GgufBytes().Tensor("a", 16, {256}, std::string(66, 'a')).Finish()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("m.gguf: tensor \"a\" is of type IQ2_XXS")));
  EXPECT_THAT(Parse(GgufBytes().Tensor("a", 999, {256}, "").Finish()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("type 999")));
}

TEST(GgufTest, BadShapesAreErrors) {
  ExpectInvalid(GgufBytes().TensorAt("a", kF32, {1, 1, 1, 1, 1}, 0).Finish(), "has 5 dimensions");
  ExpectInvalid(GgufBytes().TensorAt("a", kF32, {2, 0}, 0).Finish(), "a dimension is 0");
  ExpectInvalid(GgufBytes().TensorAt("a", kF32, {1u << 31, 1u << 31, 4}, 0).Finish(),
                "a dimension is 2147483648");
  ExpectInvalid(GgufBytes().Tensor("a", kQ4_0, {2, 48}, std::string(54, 'a')).Finish(),
                "its rows of 48 elements are not whole blocks of 32 (Q4_0)");
}

TEST(GgufTest, BadOffsetsAreErrors) {
  const auto with = [](uint64_t offset) {
    return GgufBytes()
        .Tensor("a", kF32, {16}, std::string(64, 'a'))
        .TensorAt("b", kF32, {8}, offset)
        .Finish();
  };
  ExpectInvalid(with(33), "tensor \"b\": offset 33 is not a multiple of 32");
  ExpectInvalid(with(32), "tensor \"b\": overlaps the tensor before it at 32");
  ExpectInvalid(with(64), "truncated: tensor \"b\" has 32 bytes at 64 of the data, which has 64");
  ExpectInvalid(with(~uint64_t{31}), "truncated: tensor \"b\"");
}

TEST(GgufTest, AlignmentOfTheFileHolds) {
  const auto with = [](uint32_t alignment) {
    return GgufBytes().Uint32("general.alignment", alignment).Finish();
  };
  EXPECT_THAT(Parse(with(64)), IsOk());
  ExpectInvalid(with(0), "general.alignment must be a power of two up to 1048576, is uint32 0");
  ExpectInvalid(with(48), "general.alignment must be a power of two");
  ExpectInvalid(with(1u << 21), "general.alignment must be a power of two");
}

TEST(GgufTest, NamesOfTheFileAreEscapedInMessages) {
  const std::string name("a\n\0b", 4);
  ExpectInvalid(GgufBytes().Zeros(name, {8}).Zeros(name, {8}).Finish(), "\"a\\n\\000b\"");
}

}  // namespace
}  // namespace phyllo
