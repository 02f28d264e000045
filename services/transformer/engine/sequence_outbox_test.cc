#include "services/transformer/engine/sequence_outbox.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/memory_budget.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

SampledToken Token(int32_t id, int64_t top_count = 0) {
  SampledToken token;
  token.token_id = id;
  token.top_logprobs.resize(top_count);
  return token;
}

TEST(SequenceOutboxTest, MergesTokensUntilTheyAreTaken) {
  SequenceOutbox outbox(100, [](NewsUrgency) {});
  PHYLLO_ASSERT_OK(outbox.AddToken(0, Token(7)));
  PHYLLO_ASSERT_OK(outbox.AddToken(1, Token(8)));
  const SequenceNews first = outbox.Take();
  EXPECT_EQ(first.first_token_index, 0);
  EXPECT_THAT(first.tokens, SizeIs(2));
  PHYLLO_ASSERT_OK(outbox.AddToken(2, Token(9)));
  const SequenceNews second = outbox.Take();
  EXPECT_EQ(second.first_token_index, 2);
  EXPECT_THAT(second.tokens, SizeIs(1));
  EXPECT_TRUE(outbox.Take().empty());
}

TEST(SequenceOutboxTest, CountsAreThoseOfTheLastToken) {
  SequenceOutbox outbox(100, [](NewsUrgency) {});
  PHYLLO_ASSERT_OK(outbox.AddToken(0, Token(7), {.drafted_token_count = 3}));
  PHYLLO_ASSERT_OK(outbox.AddToken(
      1, Token(8), {.preemption_count = 1, .drafted_token_count = 5, .accepted_token_count = 2}));
  const SequenceCounts counts = outbox.Take().counts;
  EXPECT_EQ(counts.preemption_count, 1);
  EXPECT_EQ(counts.drafted_token_count, 5);
  EXPECT_EQ(counts.accepted_token_count, 2);
}

TEST(SequenceOutboxTest, TellsOnceUntilTaken) {
  int told = 0;
  SequenceOutbox outbox(100, [&](NewsUrgency) { ++told; });
  outbox.Flush();
  EXPECT_EQ(told, 0);
  outbox.AddNeed({0, 1});
  outbox.Flush();
  outbox.AddNeed({1, 1});
  outbox.Flush();
  EXPECT_EQ(told, 1);
  EXPECT_THAT(outbox.Take().needs, SizeIs(2));
  outbox.Flush();
  EXPECT_EQ(told, 1);
  outbox.Finish({});
  outbox.Flush();
  EXPECT_EQ(told, 2);
}

TEST(SequenceOutboxTest, OnlyTokensThatFollowOthersCanWait) {
  std::vector<NewsUrgency> told;
  SequenceOutbox outbox(100, [&](NewsUrgency urgency) { told.push_back(urgency); });
  PHYLLO_ASSERT_OK(outbox.AddToken(0, Token(7)));
  outbox.SetPrefilled({});
  outbox.Flush();
  outbox.Take();
  PHYLLO_ASSERT_OK(outbox.AddToken(1, Token(8)));
  outbox.Flush();
  EXPECT_THAT(told, ElementsAre(NewsUrgency::kNow, NewsUrgency::kCanWait));
}

TEST(SequenceOutboxTest, TellsAgainWhenNewsGetsMoreUrgent) {
  std::vector<NewsUrgency> told;
  SequenceOutbox outbox(100, [&](NewsUrgency urgency) { told.push_back(urgency); });
  PHYLLO_ASSERT_OK(outbox.AddToken(1, Token(8)));
  outbox.Flush();
  PHYLLO_ASSERT_OK(outbox.AddToken(2, Token(9)));
  outbox.Finish({});
  outbox.Flush();
  EXPECT_THAT(told, ElementsAre(NewsUrgency::kCanWait, NewsUrgency::kNow));
}

TEST(SequenceOutboxTest, RefusesTokensBeyondTheLimit) {
  SequenceOutbox outbox(4, [](NewsUrgency) {});
  PHYLLO_EXPECT_OK(outbox.AddToken(0, Token(1, 2)));
  EXPECT_THAT(outbox.AddToken(1, Token(1, 1)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_unread_entries is 4")));
  PHYLLO_EXPECT_OK(outbox.AddToken(1, Token(1)));
  EXPECT_THAT(outbox.AddScoredToken(1, Token(1)), StatusIs(absl::StatusCode::kResourceExhausted));
  outbox.Take();
  PHYLLO_EXPECT_OK(outbox.AddScoredToken(1, Token(1, 3)));
}

TEST(SequenceOutboxTest, TokensTakeMemoryUntilTheirNewsIsWritten) {
  constexpr int64_t kRequestBytes = 1000;
  MemoryBudget budget("max_request_bytes", kRequestBytes + kUnreadTokenBytes + kUnreadLogprobBytes +
                                               2 * kSequenceTokenBytes);
  MemoryReservation memory(budget);
  PHYLLO_ASSERT_OK(memory.Grow(kRequestBytes));
  {
    SequenceOutbox outbox(
        100, [](NewsUrgency) {}, std::move(memory));
    PHYLLO_ASSERT_OK(outbox.AddToken(0, Token(1, 1)));
    EXPECT_THAT(outbox.AddToken(1, Token(2)),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_request_bytes")));
    SequenceNews news = outbox.Take();
    EXPECT_THAT(outbox.AddToken(1, Token(2)), StatusIs(absl::StatusCode::kResourceExhausted));
    news.memory.Clear();
    EXPECT_EQ(budget.used_bytes(), kRequestBytes + kSequenceTokenBytes);
    PHYLLO_EXPECT_OK(outbox.AddToken(1, Token(2)));
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(SequenceOutboxTest, KeepsTheLatestProgressOnly) {
  SequenceOutbox outbox(4, [](NewsUrgency) {});
  outbox.SetPrefillProgress({1, 9});
  outbox.SetPrefillProgress({5, 9});
  EXPECT_EQ(outbox.Take().prefill_progress->done_count, 5);
}

}  // namespace
}  // namespace phyllo
