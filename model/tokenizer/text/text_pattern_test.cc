#include "model/tokenizer/text/text_pattern.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

size_t CountIn(const TextPattern& pattern, absl::string_view text) {
  RegexScratch scratch;
  std::vector<RegexMatch> matches;
  EXPECT_THAT(pattern.FindAll(text, &scratch, &matches), IsOk());
  return matches.size();
}

TEST(TextPatternTest, StringIsLiteral) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const TextPattern pattern,
                              TextPattern::FromJson({{"pattern", {{"String", "a."}}}}));
  EXPECT_EQ(CountIn(pattern, "a.aba.a"), 2u);
  EXPECT_EQ(pattern.literal(), "a.");
}

TEST(TextPatternTest, RegexIsExpression) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const TextPattern pattern,
                              TextPattern::FromJson({{"pattern", {{"Regex", "a."}}}}));
  EXPECT_EQ(CountIn(pattern, "a.aba"), 2u);
  EXPECT_EQ(pattern.literal(), "");
}

TEST(TextPatternTest, EmptyOrMissingPatternIsError) {
  EXPECT_THAT(TextPattern::FromJson({{"pattern", {{"String", ""}}}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(TextPattern::FromJson({{"pattern", "a"}, {"type", "Split"}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(TextPattern::FromJson({{"type", "Split"}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace phyllo
