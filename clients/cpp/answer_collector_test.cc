#include "clients/cpp/answer_collector.h"

#include "clients/cpp/testing/fake_gateway.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

TEST(AnswerCollectorTest, JoinsTextAndIdsOfDeltas) {
  AnswerCollector collector;
  gateway::v1::GenerateResponse message = DeltaMessage("a");
  message.mutable_delta()->add_token_ids(1);
  collector.Add(message);
  message.mutable_delta()->set_text("b");
  message.mutable_delta()->set_token_ids(0, 2);
  collector.Add(message);

  const gateway::v1::GenerateUnaryResponse answer = collector.TakeAnswer();

  ASSERT_EQ(answer.choices_size(), 1);
  EXPECT_EQ(answer.choices(0).answer().text(), "ab");
  EXPECT_THAT(answer.choices(0).answer().token_ids(), ElementsAre(1, 2));
  EXPECT_FALSE(answer.choices(0).has_finished());
}

TEST(AnswerCollectorTest, OrdersChoicesByIndex) {
  AnswerCollector collector;
  for (const auto& message : {DeltaMessage("second", 1), DeltaMessage("first", 0),
                              FinishedMessage(1), FinishedMessage(0)}) {
    collector.Add(message);
  }
  const gateway::v1::GenerateUnaryResponse answer = collector.TakeAnswer();
  ASSERT_EQ(answer.choices_size(), 2);
  EXPECT_EQ(answer.choices(0).answer().text(), "first");
  EXPECT_TRUE(answer.choices(1).has_finished());
}

TEST(AnswerCollectorTest, PrefillProgressAddsNoText) {
  AnswerCollector collector;
  gateway::v1::GenerateResponse message;
  message.mutable_prefill_progress()->set_done_token_count(5);
  collector.Add(message);
  EXPECT_EQ(collector.TakeAnswer().choices(0).answer().text(), "");
}

}  // namespace
}  // namespace phyllo
