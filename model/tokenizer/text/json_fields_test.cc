#include "model/tokenizer/text/json_fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

const nlohmann::json& Example() {
  static const nlohmann::json* const example =
      new nlohmann::json({{"s", "text"}, {"b", true}, {"i", 3}, {"f", 1.5}, {"n", nullptr}});
  return *example;
}

TEST(JsonFieldsTest, ReadsFieldsOfTheirType) {
  EXPECT_EQ(*StringField(Example(), "s"), "text");
  EXPECT_EQ(*BoolFieldOr(Example(), "b", false), true);
  EXPECT_EQ(*IntegerFieldOr(Example(), "i", 0), 3);
}

TEST(JsonFieldsTest, NullIsAbsent) {
  EXPECT_EQ(FindField(Example(), "n"), nullptr);
  EXPECT_EQ(*StringFieldOr(Example(), "n", "other"), "other");
  EXPECT_EQ(FindField(nlohmann::json::array(), "n"), nullptr);
}

TEST(JsonFieldsTest, WrongTypeNamesField) {
  EXPECT_THAT(StringField(Example(), "i"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"i\"")));
  EXPECT_THAT(BoolFieldOr(Example(), "s", true),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"s\"")));
  EXPECT_THAT(IntegerFieldOr(Example(), "f", 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"f\"")));
}

TEST(JsonFieldsTest, MissingStringIsError) {
  EXPECT_THAT(StringField(Example(), "absent"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absent")));
}

TEST(JsonFieldsTest, ComponentMustBeObjectWithType) {
  EXPECT_EQ(*ComponentType({{"type", "NFC"}}), "NFC");
  EXPECT_THAT(ComponentType(nlohmann::json("NFC")), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace phyllo
