#include "services/gateway/answers/stop_matcher.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(StopMatcherTest, PassesTextWithoutStopSequences) {
  StopMatcher matcher({}, false);
  EXPECT_EQ(matcher.Append("any text"), "any text");
  EXPECT_EQ(matcher.Finish(), "");
  EXPECT_FALSE(matcher.matched().has_value());
}

TEST(StopMatcherTest, TrimsSequenceInsidePiece) {
  StopMatcher matcher({"END"}, false);
  EXPECT_EQ(matcher.Append("some ENDtext"), "some ");
  EXPECT_EQ(matcher.matched(), 0);
}

TEST(StopMatcherTest, KeepsSequenceWhenAskedTo) {
  StopMatcher matcher({"END"}, true);
  EXPECT_EQ(matcher.Append("some ENDtext"), "some END");
}

TEST(StopMatcherTest, HoldsBackWhatMayBecomeSequence) {
  StopMatcher matcher({"\n\nUser:"}, false);
  EXPECT_EQ(matcher.Append("answer\n"), "answer");
  EXPECT_EQ(matcher.Append("\nUs"), "");
  EXPECT_EQ(matcher.Append("er:"), "");
  EXPECT_EQ(matcher.matched(), 0);
}

TEST(StopMatcherTest, ReleasesHeldTextWhenItBecomesSomethingElse) {
  StopMatcher matcher({"stop"}, false);
  EXPECT_EQ(matcher.Append("st"), "");
  EXPECT_EQ(matcher.Append("ar"), "star");
}

TEST(StopMatcherTest, ReleasesHeldTextAtEnd) {
  StopMatcher matcher({"stop"}, false);
  EXPECT_EQ(matcher.Append("a sto"), "a ");
  EXPECT_EQ(matcher.Finish(), "sto");
  EXPECT_FALSE(matcher.matched().has_value());
}

TEST(StopMatcherTest, DropsTextAfterMatch) {
  StopMatcher matcher({"x"}, false);
  EXPECT_EQ(matcher.Append("ax"), "a");
  EXPECT_EQ(matcher.Append("more"), "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcherTest, TakesLongestOfSequencesThatEndTogether) {
  StopMatcher matcher({"b", "ab"}, false);
  EXPECT_EQ(matcher.Append("cab"), "c");
  EXPECT_EQ(matcher.matched(), 1);
}

TEST(StopMatcherTest, EndsAtSequenceThatIsCompletedFirst) {
  StopMatcher matcher({"abcd", "bc"}, false);
  EXPECT_EQ(matcher.Append("abcd"), "a");
  EXPECT_EQ(matcher.matched(), 1);
}

TEST(StopMatcherTest, FindsSequenceThatOverlapsItself) {
  StopMatcher matcher({"aab"}, false);
  EXPECT_EQ(matcher.Append("aa"), "");
  EXPECT_EQ(matcher.Append("a"), "a");
  EXPECT_EQ(matcher.Append("b"), "");
  EXPECT_EQ(matcher.matched(), 0);
}

// What the matcher must do, said the slow way.
std::string Reference(const std::string& text, const std::vector<std::string>& stops,
                      bool include) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0)
        longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, include ? end : end - longest);
  }
  return text;
}

// Random texts of few letters, so that sequences overlap in every way, cut at random.
TEST(StopMatcherTest, StopsAtSameByteHoweverTextIsCut) {
  std::mt19937 random(7);
  const auto random_text = [&random](int size, int letters) {
    std::string text;
    for (int i = 0; i < size; ++i) text.push_back(static_cast<char>('a' + random() % letters));
    return text;
  };
  int match_count = 0;
  for (int round = 0; round < 3000; ++round) {
    const int letters = 2 + static_cast<int>(random() % 3);
    const std::string text = random_text(static_cast<int>(random() % 60), letters);
    std::vector<std::string> stops;
    for (int i = 0; i < 1 + static_cast<int>(random() % 4); ++i)
      stops.push_back(random_text(1 + static_cast<int>(random() % 8), letters));
    const bool include = random() % 2 == 0;
    StopMatcher matcher(stops, include);
    std::string out;
    for (size_t begin = 0; begin < text.size();) {
      const size_t size = 1 + random() % 7;
      out += matcher.Append(absl::string_view(text).substr(begin, size));
      EXPECT_EQ(text.compare(0, out.size(), out), 0)
          << "text that is given out is never taken back";
      begin += size;
    }
    out += matcher.Finish();
    ASSERT_EQ(out, Reference(text, stops, include)) << text;
    match_count += matcher.matched().has_value() ? 1 : 0;
  }
  EXPECT_GT(match_count, 500);
  EXPECT_LT(match_count, 2900);
}

}  // namespace
}  // namespace phyllo
