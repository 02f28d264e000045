#include "model/tokenizer/content_marks.h"

#include <string>

#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using Json = nlohmann::ordered_json;

Json Variables(const std::string& content, const char* role = "user") {
  return {{"messages", {{{"role", role}, {"content", content}}}}, {"bos_token", "<s>"}};
}

std::string Content(const Json& variables) {
  return variables["messages"][0]["content"].get<std::string>();
}

GuardedTokens Guarded() {
  GuardedTokens tokens;
  tokens.control.Insert("<s>", 0);
  tokens.spelled.Insert("<t>", 1);
  return tokens;
}

TEST(ContentMarksTest, MarksComeOffAgain) {
  Json variables = Variables(" a b\n");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks, ContentMarks::Choose(variables, ""));
  marks.MarkStrings(Guarded(), &variables);
  EXPECT_NE(Content(variables), " a b\n");
  const auto unmarked = marks.RemoveStringMarks("[" + Content(variables) + "]");
  ASSERT_TRUE(unmarked.has_value());
  EXPECT_EQ(unmarked->text, "[ a b\n]");
  ASSERT_EQ(unmarked->literal_ranges.size(), 1u);
  EXPECT_EQ(unmarked->literal_ranges[0].bytes, (ByteRange{2, 5}));
  EXPECT_TRUE(unmarked->literal_ranges[0].template_tokens_too);
}

TEST(ContentMarksTest, AssistantIsTreatedLessStrictly) {
  Json variables = Variables("a", "assistant");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks, ContentMarks::Choose(variables, ""));
  marks.MarkStrings(Guarded(), &variables);
  EXPECT_FALSE(marks.RemoveStringMarks(Content(variables))->literal_ranges[0].template_tokens_too);
}

TEST(ContentMarksTest, RolesAndTokensOfModelAreLeftAlone) {
  Json variables = Variables("");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks, ContentMarks::Choose(variables, ""));
  marks.MarkStrings(Guarded(), &variables);
  EXPECT_EQ(variables, Variables(""));
}

TEST(ContentMarksTest, KeysAndTypesAreMarkedIfTheySpellTokens) {
  Json variables = Variables("");
  variables["tools"] =
      Json::array({{{"type", "function"}, {"k", 1}}, {{"type", "<s>"}, {"<t>", 1}}});
  const Json harmless = variables["tools"][0];
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks, ContentMarks::Choose(variables, ""));
  marks.MarkStrings(Guarded(), &variables);
  EXPECT_EQ(variables["tools"][0], harmless);
  EXPECT_EQ(marks.RemoveStringMarks(variables["tools"][1].dump())->literal_ranges.size(), 2u);
}

TEST(ContentMarksTest, TornMarksAreRefused) {
  Json variables = Variables("a</think>b");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks, ContentMarks::Choose(variables, ""));
  marks.MarkStrings(Guarded(), &variables);
  const std::string content = Content(variables);
  EXPECT_FALSE(marks.RemoveStringMarks(content.substr(content.find("</think>"))).has_value());
  EXPECT_FALSE(marks.RemoveStringMarks(content.substr(0, content.find("</think>"))).has_value());
  EXPECT_FALSE(marks.RemoveStringMarks(content.substr(0, 6) + content).has_value());
}

TEST(ContentMarksTest, MarksAvoidCharactersInUse) {
  Json variables = Variables("\U00100000\U00100001\U00100002");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks,
                              ContentMarks::Choose(variables, "\U00100003"));
  const auto unmarked = marks.RemoveStringMarks("\U00100000\U00100003");
  ASSERT_TRUE(unmarked.has_value());
  EXPECT_EQ(unmarked->text, "\U00100000\U00100003");
}

TEST(ContentMarksTest, TextWithAllCharactersIsRefused) {
  std::string all;
  for (int c = 0; c < 0xFFFE; ++c) {
    all += {'\xF4', static_cast<char>(0x80 | (c >> 12)),
            static_cast<char>(0x80 | ((c >> 6) & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
  }
  EXPECT_THAT(ContentMarks::Choose(Variables(all), "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ContentMarksTest, BrokenSpellingsAreRanges) {
  Json variables = Variables("x<s>y<t>");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks, ContentMarks::Choose(variables, ""));
  marks.BreakGuarded(Guarded(), &variables);
  EXPECT_EQ(Content(variables).find("<s>"), std::string::npos);
  EXPECT_EQ(Content(variables).find("<t>"), std::string::npos);
  const UnmarkedText unmarked = marks.RemoveBreaks(Guarded(), "<s>" + Content(variables));
  EXPECT_EQ(unmarked.text, "<s>x<s>y<t>");
  ASSERT_EQ(unmarked.literal_ranges.size(), 2u);
  EXPECT_EQ(unmarked.literal_ranges[0].bytes, (ByteRange{4, 7}));
  EXPECT_EQ(unmarked.literal_ranges[1].bytes, (ByteRange{8, 11}));
}

TEST(ContentMarksTest, BreaksKeysButNotTemplateTokensOfAssistant) {
  Json variables = Variables("<t><s>", "assistant");
  variables["tools"] = Json::array({{{"<s>", 1}}});
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ContentMarks marks, ContentMarks::Choose(variables, ""));
  marks.BreakGuarded(Guarded(), &variables);
  EXPECT_EQ(Content(variables).substr(0, 3), "<t>");
  EXPECT_EQ(variables["tools"].dump().find("<s>"), std::string::npos);
}

TEST(ContentMarksTest, HoldsGuardedLooksAtStringsAndKeys) {
  EXPECT_FALSE(HoldsGuarded(Guarded(), Variables("plain")));
  EXPECT_TRUE(HoldsGuarded(Guarded(), Variables("a<s>")));
  EXPECT_TRUE(HoldsGuarded(Guarded(), Variables("<t>")));
  EXPECT_FALSE(HoldsGuarded(Guarded(), Variables("<t>", "assistant")));
  Json variables = Variables("plain");
  variables["tools"] = Json::array({{{"<s>", 1}}});
  EXPECT_TRUE(HoldsGuarded(Guarded(), variables));
}

}  // namespace
}  // namespace phyllo
