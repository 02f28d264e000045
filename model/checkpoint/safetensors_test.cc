#include "model/checkpoint/safetensors.h"

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
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string LittleEndian64(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return bytes;
}

std::string File(absl::string_view header, int64_t data_bytes) {
  return absl::StrCat(LittleEndian64(header.size()), header, std::string(data_bytes, 'd'));
}

absl::Span<const uint8_t> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

absl::StatusOr<std::vector<TensorView>> Parse(const std::string& file) {
  return ParseSafetensors(Bytes(file), "m.safetensors");
}

TEST(ParseSafetensorsTest, GivesTensorsInDataOrder) {
  const std::string file = File(
      R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [4, 28]},
                                    "b": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}})",
      28);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<TensorView> views, Parse(file));
  ASSERT_EQ(views.size(), 2);
  EXPECT_EQ(views[0].name, "b");
  EXPECT_EQ(views[0].dtype, DType::kBf16);
  EXPECT_THAT(views[0].shape, ElementsAre(2));
  EXPECT_EQ(views[1].name, "a");
  EXPECT_THAT(views[1].shape, ElementsAre(2, 3));
  EXPECT_EQ(views[1].num_elements(), 6);
  EXPECT_EQ(views[1].data.size(), 24);
  EXPECT_EQ(views[1].data.data() + 24, Bytes(file).end());
}

TEST(ParseSafetensorsTest, AcceptsScalarAndEmptyTensors) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const std::vector<TensorView> views,
      Parse(File(R"({"s": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
                                             "e": {"dtype": "F32", "shape": [0, 7], "data_offsets": [0, 0]}})",
                 4)));
  ASSERT_EQ(views.size(), 2);
  EXPECT_EQ(views[0].name, "e");
  EXPECT_EQ(views[0].num_elements(), 0);
  EXPECT_THAT(views[1].shape, IsEmpty());
  EXPECT_EQ(views[1].num_elements(), 1);
}

TEST(ParseSafetensorsTest, ReadsBackWhatSafetensorsHeaderWrites) {
  const std::vector<TensorDeclaration> tensors = {{"z", DType::kF16, {3, 5}},
                                                  {"a", DType::kF32, {2}}};
  const std::string file = SafetensorsHeader(tensors) + std::string(38, 'x');
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<TensorView> views, Parse(file));
  ASSERT_EQ(views.size(), 2);
  EXPECT_EQ(views[0].name, "z");
  EXPECT_EQ(views[0].dtype, DType::kF16);
  EXPECT_THAT(views[0].shape, ElementsAre(3, 5));
  EXPECT_EQ(views[1].name, "a");
  EXPECT_EQ((views[0].data.data() - Bytes(file).data()) % 8, 0);
}

TEST(ParseSafetensorsTest, ReturnsInvalidArgumentForTruncatedFile) {
  EXPECT_THAT(Parse("1234567"), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("m.safetensors: truncated: 7 bytes")));
  EXPECT_THAT(Parse(LittleEndian64(3) + "{}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("truncated: the header has 3 bytes, the file 10")));
}

TEST(ParseSafetensorsTest, ReturnsInvalidArgumentForHeaderOverLimit) {
  EXPECT_THAT(Parse(LittleEndian64(100'000'001) + "{}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("header has 100000001 bytes, more than 100000000")));
  EXPECT_THAT(Parse(LittleEndian64(~uint64_t{0}) + "{}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("header has 18446744073709551615 bytes")));
}

struct BadHeader {
  std::string name;
  std::string header;
  std::string message;
};

class BadHeaderTest : public ::testing::TestWithParam<BadHeader> {};

// All with 8 bytes of data.
TEST_P(BadHeaderTest, IsRefusedByName) {
  EXPECT_THAT(Parse(File(GetParam().header, 8)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadHeaderTest,
    ::testing::Values(
        BadHeader{"NotJson", "{", "not valid JSON"},
        BadHeader{"NotObject", "[]", "must be a JSON object"},
        BadHeader{"TrailingText", "{}x", "not valid JSON"},
        BadHeader{"DuplicateName", R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                                      "a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
                  "key \"a\" occurs twice"},
        BadHeader{"NotDescription", R"({"a": 1})",
                  "tensor \"a\": its description is not an object"},
        BadHeader{"NoDType", R"({"a": {"shape": [2], "data_offsets": [0, 8]}})",
                  "tensor \"a\": dtype is missing"},
        BadHeader{"UnknownDType",
                  R"({"a": {"dtype": "F31", "shape": [2], "data_offsets": [0, 8]}})",
                  "dtype \"F31\" is unknown"},
        BadHeader{"NoShape", R"({"a": {"dtype": "F32", "data_offsets": [0, 8]}})",
                  "shape is missing"},
        BadHeader{"NegativeShape",
                  R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})",
                  "something other than sizes"},
        BadHeader{"FractionShape",
                  R"({"a": {"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]}})",
                  "something other than sizes"},
        BadHeader{"TextShape", R"({"a": {"dtype": "F32", "shape": ["2"], "data_offsets": [0, 8]}})",
                  "something other than sizes"},
        BadHeader{
            "ManyDimensions",
            R"({"a": {"dtype": "U8", "shape": [8,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], "data_offsets": [0, 8]}})",
            "17 dimensions"},
        BadHeader{
            "OverflowingShape",
            R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]}})",
            "its size in bytes overflows"},
        // 2^62 * 4 * 4 wraps to 0 in 64 bits.
        BadHeader{
            "WrappingShape",
            R"({"a": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 0]}})",
            "its size in bytes overflows"},
        BadHeader{
            "HugeDimension",
            R"({"a": {"dtype": "F32", "shape": [18446744073709551615], "data_offsets": [0, 8]}})",
            "something other than sizes"},
        BadHeader{"WrongSize", R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})",
                  "tensor \"a\": has 8 bytes, its shape and dtype F32 need 12"},
        BadHeader{"NoOffsets", R"({"a": {"dtype": "F32", "shape": [2]}})",
                  "data_offsets is missing"},
        BadHeader{"ThreeOffsets",
                  R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4, 8]}})",
                  "data_offsets is missing or not two"},
        BadHeader{"OutOfRange", R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}})",
                  "data_offsets [0,12] are outside the data, which has 8 bytes"},
        BadHeader{
            "HugeOffsets",
            R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [18446744073709551608, 18446744073709551615]}})",
            "are outside the data"},
        BadHeader{"NegativeOffset",
                  R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}})",
                  "are outside the data"},
        BadHeader{"Backwards", R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})",
                  "are outside the data"},
        BadHeader{"Overlap", R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                                "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
                  "tensor \"b\": overlaps"},
        BadHeader{"Gap", R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
                            "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
                  "tensor \"b\": leaves a gap of 2 bytes"},
        BadHeader{"RestAtEnd", R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
                  "4 bytes at the end belong to no tensor"}),
    [](const auto& info) { return info.param.name; });

TEST(ParseSafetensorsTest, CutsLongNamesInMessages) {
  const std::string header = absl::StrCat(R"({")", std::string(100000, 'n'), R"(": 1})");
  const absl::Status status = Parse(File(header, 0)).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nnn...")));
  EXPECT_LT(status.message().size(), 300);
}

TEST(ParseShardIndexTest, ReadsWeightMap) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const ShardIndex index,
      ParseShardIndex(R"({"metadata": {"total_size": 1}, "weight_map": {"a": "x-1", "b": "x-2"}})",
                      "i"));
  EXPECT_EQ(index.weight_map.size(), 2);
  EXPECT_EQ(index.weight_map.at("b"), "x-2");
}

TEST(ParseShardIndexTest, ReturnsInvalidArgumentForBadIndex) {
  const struct {
    const char* json;
    const char* message;
  } cases[] = {
      {"{}", "weight_map is missing"},
      {R"({"weight_map": []})", "weight_map is missing or not an object"},
      {R"({"weight_map": {}})", "names no tensor"},
      {R"({"weight_map": {"a": 1}})", "tensor \"a\": its shard is not a string"},
      {R"({"weight_map": {"a": "../x"}})", "shard \"../x\" is not a file name"},
      {R"({"weight_map": {"a": "/etc/passwd"}})", "is not a file name"},
      {R"({"weight_map": {"a": ".."}})", "is not a file name"},
      {R"({"weight_map": {"a": ""}})", "is not a file name"},
      {R"({"weight_map": {"a": "x\u0000y"}})", "is not a file name"},
      {R"({"weight_map": {"a": "x", "a": "y"}})", "\"a\" occurs twice"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseShardIndex(c.json, "i"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.json;
  }
}

}  // namespace
}  // namespace phyllo
