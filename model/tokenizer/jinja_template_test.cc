#include "model/tokenizer/jinja_template.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

absl::StatusOr<std::string> Render(absl::string_view source,
                                   const nlohmann::ordered_json& variables) {
  PHYLLO_ASSIGN_OR_RETURN(const auto compiled, JinjaTemplate::Compile(source));
  return compiled->Render(variables);
}

TEST(JinjaTemplateTest, BlocksAreTrimmed) {
  EXPECT_EQ(*Render("{% if true %}\n  {% set x = 1 %}\na\n{% endif %}\n",
                    nlohmann::ordered_json::object()),
            "a\n");
}

TEST(JinjaTemplateTest, ToJsonKeepsOrderAndCharacters) {
  EXPECT_EQ(
      *Render("{{ v | tojson }}", {{"v", {{"z", 1.5}, {"a", "é<b>"}, {"l", {1, nullptr, true}}}}}),
      R"({"z": 1.5, "a": "é<b>", "l": [1, null, true]})");
}

TEST(JinjaTemplateTest, TrimTakesUnicodeSpaces) {
  EXPECT_EQ(*Render("{{ v | trim }}", {{"v", "\u3000 a\u00A0\n"}}), "a");
}

TEST(JinjaTemplateTest, UndefinedVariableIsEmpty) {
  EXPECT_EQ(*Render("[{{ bos_token }}]", nlohmann::ordered_json::object()), "[]");
}

TEST(JinjaTemplateTest, RaiseExceptionIsItsMessage) {
  EXPECT_THAT(Render("{{ raise_exception('no') }}", nlohmann::ordered_json::object()),
              StatusIs(absl::StatusCode::kInvalidArgument, "no"));
}

TEST(JinjaTemplateTest, OtherFailureIsInvalidArgument) {
  EXPECT_THAT(Render("{{ v.a.b.c }}", {{"v", 3}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("chat template failed")));
}

TEST(JinjaTemplateTest, KnowsTheYear) {
  EXPECT_THAT(*Render("{{ strftime_now('%Y') }}", nlohmann::ordered_json::object()),
              MatchesRegex("2[0-9][0-9][0-9]"));
}

TEST(JinjaTemplateTest, SyntaxErrorIsInvalidArgument) {
  EXPECT_THAT(JinjaTemplate::Compile("{% for %}"), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace phyllo
