#include "model/base/strict_json.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::string Nested(int arrays) {
  return absl::StrCat("{\"a\":", std::string(arrays, '['), std::string(arrays, ']'), "}");
}

TEST(StrictJsonTest, ParsesObject) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const nlohmann::json json,
                              ParseJsonObject(R"({"a": {"b": [1, 2.5, null]}, "b": "é"})", "x"));
  EXPECT_EQ(json.at("a").at("b").at(0), 1);
  EXPECT_EQ(json.at("b"), "é");
}

TEST(StrictJsonTest, AcceptsSameKeyInDifferentObjects) {
  PHYLLO_EXPECT_OK(
      ParseJsonObject(R"({"a": {"k": 1}, "b": {"k": {"k": 2}}, "k": [{"k": 1}, {"k": 2}]})", "x"));
}

TEST(StrictJsonTest, ReturnsInvalidArgumentForDuplicateKey) {
  EXPECT_THAT(
      ParseJsonObject(R"({"a": {"k": 1, "j": {}, "k": 2}})", "x.json"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x.json: key \"k\" occurs twice")));
}

TEST(StrictJsonTest, AcceptsDepthAtLimit) {
  PHYLLO_EXPECT_OK(ParseJsonObject(Nested(kMaxJsonDepth - 1), "x"));
}

TEST(StrictJsonTest, ReturnsInvalidArgumentForDepthOverLimit) {
  EXPECT_THAT(ParseJsonObject(Nested(kMaxJsonDepth), "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nested deeper than 64")));
}

TEST(StrictJsonTest, SurvivesMillionLevels) {
  EXPECT_THAT(ParseJsonObject(Nested(1000000), "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nested deeper than 64")));
}

TEST(StrictJsonTest, ReturnsInvalidArgumentForMalformedText) {
  for (const char* text : {"", "{", "{\"a\": NaN}", "{\"a\": 1e400}", "{\"a\": 1,}", "{} x",
                           "{\"a\": \"\xff\"}", "{\"a\": 'b'}"}) {
    EXPECT_THAT(ParseJsonObject(text, "x"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not valid JSON")))
        << text;
  }
}

TEST(StrictJsonTest, ReturnsInvalidArgumentForOtherThanObject) {
  EXPECT_THAT(ParseJsonObject("[1]", "x"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("must be a JSON object, is array")));
}

}  // namespace
}  // namespace phyllo
