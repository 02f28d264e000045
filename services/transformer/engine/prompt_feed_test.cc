#include "services/transformer/engine/prompt_feed.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows of two floats, 10 * position and 10 * position + 1.
std::vector<float> Rows(int64_t first_position, int64_t count) {
  std::vector<float> rows;
  for (int64_t p = first_position; p < first_position + count; ++p) {
    rows.push_back(10.0f * p);
    rows.push_back(10.0f * p + 1);
  }
  return rows;
}

// Asks until there is nothing more to ask for; returns (first_position, count) pairs in a row.
std::vector<int64_t> Needs(PromptFeed& feed) {
  std::vector<int64_t> needs;
  while (const std::optional<RowRange> need = feed.NextNeed()) {
    needs.push_back(need->first_position);
    needs.push_back(need->count);
  }
  return needs;
}

std::vector<float> Read(PromptFeed& feed, int64_t count) {
  std::vector<float> out(2 * count);
  feed.Read(count, absl::MakeSpan(out));
  return out;
}

TEST(PromptFeedTest, AsksTwoChunksAhead) {
  PromptFeed feed(10, 2, 4);
  EXPECT_THAT(Needs(feed), ElementsAre(0, 4, 4, 4));
  PHYLLO_EXPECT_OK(feed.Accept(0, Rows(0, 4)));
  EXPECT_THAT(Needs(feed), ElementsAre());
  Read(feed, 4);
  EXPECT_THAT(Needs(feed), ElementsAre(8, 2));
}

TEST(PromptFeedTest, ReadsAcrossChunksInOrder) {
  PromptFeed feed(6, 2, 3);
  Needs(feed);
  PHYLLO_EXPECT_OK(feed.Accept(0, Rows(0, 2)));
  PHYLLO_EXPECT_OK(feed.Accept(2, Rows(2, 1)));
  PHYLLO_EXPECT_OK(feed.Accept(3, Rows(3, 3)));
  EXPECT_EQ(feed.ready_count(), 6);
  EXPECT_EQ(Read(feed, 1), Rows(0, 1));
  EXPECT_EQ(Read(feed, 4), Rows(1, 4));
  EXPECT_EQ(Read(feed, 1), Rows(5, 1));
  EXPECT_FALSE(feed.waiting_for_rows());
}

TEST(PromptFeedTest, ReturnsInvalidArgumentWhenRowsWereNotAskedFor) {
  PromptFeed feed(10, 2, 4);
  EXPECT_THAT(feed.Accept(0, Rows(0, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not asked for")));
}

TEST(PromptFeedTest, ReturnsInvalidArgumentWhenRowsAreOutOfPlace) {
  PromptFeed feed(10, 2, 4);
  Needs(feed);
  EXPECT_THAT(feed.Accept(4, Rows(4, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unanswered need [0, 4)")));
  EXPECT_THAT(feed.Accept(0, Rows(0, 5)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5 positions from 0 on")));
}

TEST(PromptFeedTest, ReturnsInvalidArgumentWhenRowsAreOfTheLastPositionThereIs) {
  constexpr int64_t kLastPosition = std::numeric_limits<int64_t>::max();
  PromptFeed feed(10, 2, 4);
  Needs(feed);
  EXPECT_THAT(
      feed.Accept(kLastPosition, {1.0f, 2.0f}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 9223372036854775807 on")));
}

TEST(PromptFeedTest, ReturnsInvalidArgumentWhenRowsAreNotWhole) {
  PromptFeed feed(10, 2, 4);
  Needs(feed);
  EXPECT_THAT(feed.Accept(0, {1.0f, 2.0f, 3.0f}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("have 3 elements")));
  EXPECT_THAT(feed.Accept(0, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("have 0 elements")));
}

TEST(PromptFeedTest, DropsAnswersThatARestartOvertook) {
  PromptFeed feed(10, 2, 4);
  Needs(feed);
  PHYLLO_EXPECT_OK(feed.Accept(0, Rows(0, 4)));
  Read(feed, 2);
  feed.Restart();
  EXPECT_THAT(Needs(feed), ElementsAre(0, 4, 4, 4));
  PHYLLO_EXPECT_OK(feed.Accept(4, Rows(4, 4)));  // asked for before the restart
  EXPECT_EQ(feed.ready_count(), 0);
  PHYLLO_EXPECT_OK(feed.Accept(0, Rows(0, 4)));
  EXPECT_EQ(feed.ready_count(), 4);
  EXPECT_EQ(Read(feed, 4), Rows(0, 4));
}

TEST(PromptFeedTest, AsksOnlyForRowsBehindASkip) {
  PromptFeed feed(20, 1, 4);
  feed.SkipTo(10);
  EXPECT_EQ(feed.ready_count(), 10);
  const std::optional<RowRange> need = feed.NextNeed();
  ASSERT_TRUE(need.has_value());
  EXPECT_EQ(need->first_position, 10);
  EXPECT_EQ(need->count, 4);
}

TEST(PromptFeedTest, DropsRowsThatASkipMadeNeedless) {
  PromptFeed feed(20, 1, 4);
  feed.NextNeed();
  feed.NextNeed();
  PHYLLO_ASSERT_OK(feed.Accept(0, {0, 1, 2, 3}));
  feed.SkipTo(2);  // of those that are held
  std::vector<float> row(1);
  feed.Read(1, absl::MakeSpan(row));
  EXPECT_EQ(row[0], 2);
  feed.SkipTo(6);  // of those on their way
  EXPECT_EQ(feed.ready_count(), 6);
  PHYLLO_ASSERT_OK(feed.Accept(4, {4}));
  PHYLLO_ASSERT_OK(feed.Accept(5, {5, 6, 7}));
  EXPECT_EQ(feed.ready_count(), 8);
  feed.Read(1, absl::MakeSpan(row));
  EXPECT_EQ(row[0], 6);
}

TEST(PromptFeedTest, RecognisesRowsFromBeforeASkipBeyondThem) {
  PromptFeed feed(20, 1, 4);
  feed.NextNeed();
  feed.SkipTo(9);
  ASSERT_TRUE(feed.NextNeed().has_value());
  PHYLLO_ASSERT_OK(feed.Accept(0, {0, 1, 2, 3}));
  EXPECT_EQ(feed.ready_count(), 9);
  PHYLLO_ASSERT_OK(feed.Accept(9, {9, 10}));
  EXPECT_EQ(feed.ready_count(), 11);
}

TEST(PromptFeedTest, NeedsNothingBehindAWholeSkip) {
  PromptFeed feed(20, 1, 4);
  feed.SkipTo(20);
  EXPECT_FALSE(feed.NextNeed().has_value());
  EXPECT_EQ(feed.ready_count(), 20);
}

}  // namespace
}  // namespace phyllo
