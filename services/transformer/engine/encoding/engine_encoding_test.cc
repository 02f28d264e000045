// Encodings in the engine, stepped by hand over a fake model: pooling, the label head, chunks,
// preemption, and who may ask what of which model.
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/heads/pooling.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `count` ids in [0, 13).
std::vector<int32_t> Prompt(int64_t count, int32_t seed = 0) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>((i * 7 + i * i * 3 + seed * 5) % 13));
  return ids;
}

SequenceRequest Encoding(std::vector<int32_t> prompt, std::optional<Pooling> pooling) {
  SequenceRequest request;
  request.prompt_token_ids = std::move(prompt);
  request.encoding = EncodingRequest{pooling};
  return request;
}

// The final hidden states of all tokens [n, 2].
std::vector<float> HiddenStates(const std::vector<int32_t>& prompt) {
  std::vector<float> states;
  for (size_t i = 1; i <= prompt.size(); ++i) {
    const std::vector<float> state =
        FakeStepModel::FinalHiddenState(absl::MakeConstSpan(prompt).first(i));
    states.insert(states.end(), state.begin(), state.end());
  }
  return states;
}

std::vector<float> Mean(const std::vector<float>& states) {
  double sums[2] = {0, 0};
  for (size_t i = 0; i < states.size(); ++i) sums[i % 2] += states[i];
  const double count = static_cast<double>(states.size()) / 2;
  return {static_cast<float>(sums[0] / count), static_cast<float>(sums[1] / count)};
}

TEST(EngineEncodingTest, GivesThePooledHiddenStates) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 8});
  const std::vector<float> all = HiddenStates(Prompt(20));
  const FakeClient& last = driver.Add(Encoding(Prompt(20), Pooling::kLast));
  const FakeClient& mean = driver.Add(Encoding(Prompt(20), Pooling::kMean));
  const FakeClient& cls = driver.Add(Encoding(Prompt(20), Pooling::kCls));
  const FakeClient& none = driver.Add(Encoding(Prompt(20), Pooling::kNone));
  driver.Drive();
  for (const FakeClient* client : {&last, &mean, &cls, &none}) {
    PHYLLO_ASSERT_OK(client->result->status);
    EXPECT_EQ(client->result->finish_reason, FinishReason::kEncoded);
    ASSERT_TRUE(client->result->encoding.has_value());
    EXPECT_FALSE(client->result->encoding->is_labels);
    EXPECT_EQ(client->result->encoding->cols, 2);
  }
  EXPECT_EQ(last.result->encoding->values, std::vector<float>(all.end() - 2, all.end()));
  EXPECT_EQ(mean.result->encoding->values, Mean(all));
  EXPECT_EQ(cls.result->encoding->values, std::vector<float>(all.begin(), all.begin() + 2));
  EXPECT_EQ(none.result->encoding->values, all);
  EXPECT_EQ(none.result->encoding->rows, 20);
  EXPECT_EQ(model.page_allocator().free_count(), 100);
}

TEST(EngineEncodingTest, RunsInTheBatchOfGenerations) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 8});
  const FakeClient& generation = driver.Add(EngineDriver::Request(Prompt(4), 12));
  driver.Step();
  driver.Step();
  const FakeClient& encoding = driver.Add(Encoding(Prompt(30, 1), Pooling::kMean));
  driver.Drive();
  // Every chunk of the encoding shared its step with a token of the generation.
  EXPECT_THAT(model.steps(), testing::Contains(ElementsAre(1, 8)));
  EXPECT_EQ(generation.token_ids(), FakeStepModel::GreedyContinuation(Prompt(4), 12));
  EXPECT_EQ(encoding.result->encoding->values, Mean(HiddenStates(Prompt(30, 1))));
}

TEST(EngineEncodingTest, StartsAgainWhenPreempted) {
  FakeStepModel model(7, 4);
  EngineDriver driver(model, {.max_prefill_rows = 1});
  driver.Add(EngineDriver::Request(Prompt(4), 22));
  const FakeClient& mean = driver.Add(Encoding(Prompt(14, 2), Pooling::kMean));
  driver.Drive();
  ASSERT_GT(mean.result->preemption_count, 0);
  PHYLLO_ASSERT_OK(mean.result->status);
  EXPECT_EQ(mean.result->encoding->values, Mean(HiddenStates(Prompt(14, 2))));
}

TEST(EngineEncodingTest, LabelHeadReadsTheLastHiddenState) {
  FakeStepModel model(100, 4);
  model.set_head(HeadKind::kLabels, 3);
  EngineDriver driver(model, {.max_prefill_rows = 4});
  const FakeClient& client = driver.Add(Encoding(Prompt(9), std::nullopt));
  driver.Drive();
  PHYLLO_ASSERT_OK(client.result->status);
  const std::vector<float> state = FakeStepModel::FinalHiddenState(Prompt(9));
  EXPECT_TRUE(client.result->encoding->is_labels);
  EXPECT_EQ(client.result->encoding->cols, 3);
  EXPECT_THAT(client.result->encoding->values,
              ElementsAre(state[0], state[0] + state[1], state[0] + 2 * state[1]));
}

TEST(EngineEncodingTest, PoolingIsGivenInSpiteOfALabelHead) {
  FakeStepModel model(100, 4);
  model.set_head(HeadKind::kLabels, 3);
  EngineDriver driver(model);
  const FakeClient& client = driver.Add(Encoding(Prompt(9), Pooling::kLast));
  driver.Drive();
  EXPECT_FALSE(client.result->encoding->is_labels);
  EXPECT_EQ(client.result->encoding->values, FakeStepModel::FinalHiddenState(Prompt(9)));
}

TEST(EngineEncodingTest, OneTokenIsEnough) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  const FakeClient& client = driver.Add(Encoding({5}, std::nullopt));
  driver.Drive();
  EXPECT_EQ(client.result->encoding->values, FakeStepModel::FinalHiddenState({5}));
}

TEST(EngineEncodingTest, EndsWithInternalWhenTheEncodingIsNotFinite) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  const FakeClient& bad = driver.Add(Encoding({1, FakeStepModel::kPoison}, Pooling::kLast));
  const FakeClient& good = driver.Add(Encoding(Prompt(5), Pooling::kLast));
  driver.Drive();
  EXPECT_THAT(bad.result->status, StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
  PHYLLO_EXPECT_OK(good.result->status);
}

TEST(EngineEncodingTest, CancelGivesThePagesBack) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 4});
  const FakeClient& client = driver.Add(Encoding(Prompt(30), Pooling::kMean));
  driver.Step();
  driver.Step();
  ASSERT_LT(model.page_allocator().free_count(), 100);
  driver.engine().Cancel(client.id);
  driver.Drive();
  EXPECT_THAT(client.result->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(model.page_allocator().free_count(), 100);
}

TEST(EngineEncodingTest, RefusesToGenerateWithALabelHead) {
  FakeStepModel model(100, 4);
  model.set_head(HeadKind::kLabels, 3);
  EngineDriver driver(model);
  EXPECT_THAT(
      driver.TrySubmit(EngineDriver::Request(Prompt(4), 3)).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("label head with 3 outputs")));
}

TEST(EngineEncodingTest, RefusesToScoreWithoutAHead) {
  FakeStepModel model(100, 4);
  model.set_head(HeadKind::kNone, 0);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request(Prompt(4), 0);
  request.first_scored_index = 1;
  EXPECT_THAT(driver.TrySubmit(request).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no LM head")));
}

TEST(EngineEncodingTest, RefusesMoreVectorsThanTheLimit) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_encoding_elements = 20});
  PHYLLO_EXPECT_OK(driver.TrySubmit(Encoding(Prompt(10), Pooling::kNone)).status());
  EXPECT_THAT(driver.TrySubmit(Encoding(Prompt(11), Pooling::kNone)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("11 vectors of 2"), HasSubstr("at most 10 tokens"))));
}

}  // namespace
}  // namespace phyllo
