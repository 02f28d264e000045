#include "model/tokenizer/text/grapheme.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Clusters(absl::string_view text) {
  std::vector<std::string> clusters;
  for (size_t at = 0; at < text.size();) {
    const size_t end = EndOfGrapheme(text, at);
    clusters.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return clusters;
}

TEST(GraphemeTest, AsciiCharactersStandAlone) {
  EXPECT_THAT(Clusters("ab\n"), ElementsAre("a", "b", "\n"));
}

TEST(GraphemeTest, LineEndOfTwoCharactersIsOne) {
  EXPECT_THAT(Clusters("a\r\n\r"), ElementsAre("a", "\r\n", "\r"));
}

TEST(GraphemeTest, MarksBelongToWhatStandsBefore) {
  EXPECT_THAT(Clusters("e\u0301\u0302x\u0301"), ElementsAre("e\u0301\u0302", "x\u0301"));
}

TEST(GraphemeTest, JoinedEmojiAndPairsOfRegionalIndicatorsAreOne) {
  EXPECT_THAT(Clusters("👩‍👩‍👧a🇩🇪🇫🇷"),
              ElementsAre("👩‍👩‍👧", "a", "🇩🇪", "🇫🇷"));
}

}  // namespace
}  // namespace phyllo
