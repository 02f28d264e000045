#include "model/tokenizer/text/regex.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Matches(absl::string_view pattern, absl::string_view subject) {
  const auto regex = Regex::Compile(pattern);
  EXPECT_THAT(regex, IsOk());
  RegexScratch scratch;
  std::vector<RegexMatch> matches;
  EXPECT_THAT((*regex)->FindAll(subject, &scratch, &matches), IsOk());
  std::vector<std::string> texts;
  for (const RegexMatch& match : matches)
    texts.emplace_back(subject.substr(match.begin, match.end - match.begin));
  return texts;
}

TEST(RegexTest, FindsAllMatchesInOrder) {
  EXPECT_THAT(Matches(R"(\p{L}+|\p{N})", "ab 12é"), ElementsAre("ab", "1", "2", "é"));
}

TEST(RegexTest, SpaceIsWhiteSpaceProperty) {
  // U+0085 is white space, U+180E is not; PCRE2's own \s says otherwise of the latter.
  EXPECT_THAT(Matches(R"(\s+)", "a\u0085b\u180Ec\u3000d"), ElementsAre("\u0085", "\u3000"));
  EXPECT_THAT(Matches(R"([^\s]+)", "a\u3000b"), ElementsAre("a", "b"));
  EXPECT_THAT(Matches(R"([\S]+)", "a\u3000b"), ElementsAre("a", "b"));
}

TEST(RegexTest, HIsHexadecimalDigit) { EXPECT_THAT(Matches(R"(\h+)", "1f g"), ElementsAre("1f")); }

TEST(RegexTest, WordIncludesMarks) {
  EXPECT_THAT(Matches(R"(\w+)", "e\u0301a_1-"), ElementsAre("e\u0301a_1"));
}

TEST(RegexTest, CaselessGroupFoldsUnicode) {
  EXPECT_THAT(Matches(R"((?i:'s))", "'S '\u017F"), ElementsAre("'S", "'\u017F"));
}

TEST(RegexTest, LookaheadSeesRestOfSubject) {
  EXPECT_THAT(Matches(R"(\s+(?!\S)|\s+)", "   a"), ElementsAre("  ", " "));
}

TEST(RegexTest, RubyMultilineIsDotAll) {
  EXPECT_THAT(Matches("(?m:a.b)", "a\nb"), ElementsAre("a\nb"));
}

TEST(RegexTest, EmptyMatchesAreLeftOut) { EXPECT_THAT(Matches("a*", "baac"), ElementsAre("aa")); }

TEST(RegexTest, FirstBracketIsMember) { EXPECT_THAT(Matches("[]a]+", "b]a"), ElementsAre("]a")); }

TEST(RegexTest, LongRunOfOneClassMatches) {
  const std::string run(1 << 20, 'a');
  EXPECT_THAT(Matches(R"(\p{L}+)", run), ElementsAre(run));
}

TEST(RegexTest, RejectsWhatDoesNotCompile) {
  EXPECT_THAT(Regex::Compile("(a"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("(a")));
}

TEST(RegexTest, RejectsClassIntersection) {
  EXPECT_THAT(Regex::Compile("[a-z&&[^x]]"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("&&")));
}

TEST(RegexTest, RejectsNestedClass) {
  EXPECT_THAT(Regex::Compile("[a[bc]]"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("inside another")));
}

TEST(RegexTest, ExhaustedStackIsError) {
  const auto regex = Regex::Compile("(?:(a)|b)*c");
  ASSERT_THAT(regex, IsOk());
  RegexScratch scratch;
  std::vector<RegexMatch> matches;
  EXPECT_THAT((*regex)->FindAll(std::string(1 << 22, 'a'), &scratch, &matches),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace phyllo
