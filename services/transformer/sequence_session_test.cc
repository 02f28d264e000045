#include "services/transformer/sequence_session.h"

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;

const std::vector<int32_t> kPrompt = {1, 2, 3};

class SequenceSessionTest : public ::testing::Test {
 protected:
  void Begin() {
    PHYLLO_ASSERT_OK(session_.Begin(EngineDriver::Request(kPrompt, 5), [](NewsUrgency) {}));
  }

  static std::vector<float> Rows() { return {1, 0, 2, 1, 3, 2}; }

  FakeStepModel model_{100, 4};
  EngineDriver driver_{model_, {.max_sequences = 1, .max_queue_sequences = 1}};
  SequenceSession session_{driver_.engine(), /*hidden_size=*/2, absl::Seconds(7)};
};

TEST_F(SequenceSessionTest, TakesTokensAndThenTheFinalStatus) {
  Begin();
  driver_.Drive();
  EXPECT_THAT(session_.Take().news.needs, SizeIs(1));
  PHYLLO_EXPECT_OK(session_.ProvideRows(0, Rows()));
  driver_.Drive();
  const SessionNews session = session_.Take();
  EXPECT_THAT(session.news.tokens, SizeIs(5));
  ASSERT_TRUE(session.final_status.has_value());
  PHYLLO_EXPECT_OK(*session.final_status);
}

TEST_F(SequenceSessionTest, RefusesRowsBeforeTheNeedWasTaken) {
  Begin();
  driver_.Drive();
  EXPECT_THAT(session_.ProvideRows(0, Rows()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 rows more")));
}

TEST_F(SequenceSessionTest, RefusesRowsTwice) {
  Begin();
  driver_.Drive();
  session_.Take();
  PHYLLO_EXPECT_OK(session_.ProvideRows(0, Rows()));
  EXPECT_THAT(session_.ProvideRows(0, Rows()), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(SequenceSessionTest, EndsAtOnceWhenItFailsBeforeTheStart) {
  session_.Fail(absl::InvalidArgumentError("bad"));
  EXPECT_THAT(session_.Take().final_status,
              Optional(StatusIs(absl::StatusCode::kInvalidArgument, "bad")));
}

TEST_F(SequenceSessionTest, EndsWithItsOwnErrorOnceTheEngineLetsGo) {
  Begin();
  driver_.Drive();
  session_.Fail(absl::InvalidArgumentError("bad"));
  session_.Fail(absl::CancelledError("later"));
  EXPECT_EQ(session_.Take().final_status, std::nullopt);
  driver_.Drive();
  EXPECT_THAT(session_.Take().final_status,
              Optional(StatusIs(absl::StatusCode::kInvalidArgument, "bad")));
}

TEST_F(SequenceSessionTest, FailsWhenAnAskedForRowCanNeverCome) {
  Begin();
  PHYLLO_EXPECT_OK(session_.EndRequests());  // nothing was asked for yet
  driver_.Drive();
  EXPECT_EQ(session_.Take().final_status, std::nullopt);
  driver_.Drive();
  EXPECT_THAT(session_.Take().final_status, Optional(StatusIs(absl::StatusCode::kInvalidArgument,
                                                              HasSubstr("3 rows unanswered"))));
}

TEST_F(SequenceSessionTest, LetsTheClientCloseAfterItsLastRow) {
  Begin();
  driver_.Drive();
  session_.Take();
  PHYLLO_EXPECT_OK(session_.ProvideRows(0, Rows()));
  PHYLLO_EXPECT_OK(session_.EndRequests());
  driver_.Drive();
  EXPECT_THAT(session_.Take().final_status, Optional(IsOk()));
}

TEST_F(SequenceSessionTest, AddsARetryHintWhenTheQueueIsFull) {
  driver_.Add(EngineDriver::Request(kPrompt, 5));
  const absl::Status status = session_.Begin(EngineDriver::Request(kPrompt, 5), [](NewsUrgency) {});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(GetRetryDelay(status), Optional(absl::Seconds(7)));
}

}  // namespace
}  // namespace phyllo
