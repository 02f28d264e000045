#include "model/tokenizer/components/added_tokens.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

nlohmann::json Token(int id, const char* content) {
  return {{"id", id}, {"content", content}, {"special", true}, {"normalized", false}};
}

// The parts of `text`; tokens in brackets.
std::vector<std::string> Cut(const nlohmann::json& list, absl::string_view text) {
  const auto tokens = AddedTokens::FromJson(list, nullptr, "");
  EXPECT_THAT(tokens, IsOk());
  std::vector<std::string> parts;
  for (const auto& part : tokens->Cut(text, /*normalized=*/false,
                                      [](const AddedToken&, size_t, size_t) { return true; })) {
    const std::string piece(text.substr(part.begin, part.end - part.begin));
    parts.push_back(part.token == nullptr ? piece : absl::StrCat("[", piece, "]"));
  }
  return parts;
}

TEST(AddedTokensTest, CutsLongestFirst) {
  EXPECT_THAT(Cut({Token(0, "<a>"), Token(1, "<a><b>")}, "x<a><b><a>y"),
              ElementsAre("x", "[<a><b>]", "[<a>]", "y"));
}

TEST(AddedTokensTest, StripTakesWhiteSpaceAlong) {
  nlohmann::json token = Token(0, "<m>");
  token["lstrip"] = true;
  EXPECT_THAT(Cut(nlohmann::json::array({token}), "a  <m> b"), ElementsAre("a", "[  <m>]", " b"));
  token["rstrip"] = true;
  EXPECT_THAT(Cut(nlohmann::json::array({token}), "a <m> <m> b"),
              ElementsAre("a", "[ <m> ]", "[<m> ]", "b"));
}

TEST(AddedTokensTest, SingleWordMustStandAlone) {
  nlohmann::json token = Token(0, "ing");
  token["single_word"] = true;
  EXPECT_THAT(Cut(nlohmann::json::array({token}), "going ing ings"),
              ElementsAre("going ", "[ing]", " ings"));
}

TEST(AddedTokensTest, FilterRejectsAndScanGoesOn) {
  const auto tokens = AddedTokens::FromJson({Token(0, "a"), Token(1, "ab")}, nullptr, "");
  ASSERT_THAT(tokens, IsOk());
  const auto parts = tokens->Cut(
      "ab", false, [](const AddedToken& token, size_t, size_t) { return token.id != 1; });
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].token->id, 0);
}

TEST(AddedTokensTest, NormalizedTokensAreFoundInNormalizedText) {
  const auto normalizer = MakeNormalizer({{"type", "Lowercase"}});
  ASSERT_THAT(normalizer, IsOk());
  nlohmann::json token = Token(0, "<A>");
  token["normalized"] = true;
  const auto tokens = AddedTokens::FromJson(nlohmann::json::array({token}), normalizer->get(), "");
  ASSERT_THAT(tokens, IsOk());
  EXPECT_TRUE(tokens->HasNone(/*normalized=*/false));
  const auto parts = tokens->Cut("<a>", /*normalized=*/true,
                                 [](const AddedToken&, size_t, size_t) { return true; });
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].token->content, "<A>");
}

TEST(AddedTokensTest, ControlIsSpecialOrDelimited) {
  nlohmann::json delimited = Token(1, "<｜User｜>"), ordinary = Token(2, "<think>");
  delimited["special"] = false;
  ordinary["special"] = false;
  const auto tokens =
      AddedTokens::FromJson({Token(0, "<s>"), delimited, ordinary}, nullptr, "{{ '<think>' }}");
  ASSERT_THAT(tokens, IsOk());
  EXPECT_TRUE(tokens->Find(0)->control);
  EXPECT_TRUE(tokens->Find(1)->control);
  EXPECT_FALSE(tokens->Find(2)->control);
  EXPECT_TRUE(tokens->Find(2)->in_template);
}

TEST(AddedTokensTest, FindsByIdAndContent) {
  const auto tokens = AddedTokens::FromJson(nlohmann::json::array({Token(5, "<s>")}), nullptr, "");
  ASSERT_THAT(tokens, IsOk());
  EXPECT_EQ(*tokens->IdOf("<s>"), 5);
  EXPECT_FALSE(tokens->IdOf("<t>").has_value());
  EXPECT_EQ(tokens->Find(6), nullptr);
}

TEST(AddedTokensTest, MalformedEntriesAreErrors) {
  EXPECT_THAT(AddedTokens::FromJson(nlohmann::json(3), nullptr, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(AddedTokens::FromJson(nlohmann::json::array({Token(-4, "x")}), nullptr, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(AddedTokens::FromJson(nlohmann::json::array({{{"id", 1}}}), nullptr, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace phyllo
