// Everything that a request may ask of the sampler, in the engine: the tokens depend on the request
// alone, whatever the batch, pages and interruptions.
#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::vector<int32_t> kPrompt = {1, 2, 3, 1, 2};

// Every parameter that looks at earlier tokens or draws.
SequenceRequest FullRequest() {
  SequenceRequest request = EngineDriver::Request(kPrompt, 16);
  request.sampling.temperature = 1.5f;
  request.sampling.top_p = 0.95f;
  request.sampling.typical_p = 0.97f;
  request.sampling.repetition_penalty = 1.2f;
  request.sampling.frequency_penalty = 0.4f;
  request.sampling.penalty_window = 6;
  request.sampling.dry = DryParameters{.multiplier = 0.5f, .allowed_length = 1};
  request.sampling.xtc = XtcParameters{.probability = 0.5f, .threshold = 0.05f};
  request.sampling.no_repeat_ngram_size = 4;
  request.sampling.banned_sequences = {{5}, {2, 3}};
  request.sampling.seed = 11;
  return request;
}

std::vector<int32_t> TokensAlone(const SequenceRequest& request) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& client = driver.Add(request);
  driver.Drive();
  EXPECT_THAT(client.tokens, SizeIs(16));
  return client.token_ids();
}

TEST(EngineSamplingTest, TokensDoNotDependOnPreemption) {
  FakeStepModel model(8, 4);
  EngineDriver driver(model);
  driver.Add(EngineDriver::Request(kPrompt, 20));
  FakeClient& client = driver.Add(FullRequest());
  driver.Drive();
  ASSERT_TRUE(client.result.has_value());
  ASSERT_GT(client.result->preemption_count, 0);
  EXPECT_EQ(client.token_ids(), TokensAlone(FullRequest()));
}

TEST(EngineSamplingTest, TokensDoNotDependOnAMoveToAnotherServer) {
  const std::vector<int32_t> all = TokensAlone(FullRequest());
  for (const int64_t done : {1, 9}) {
    SequenceRequest request = FullRequest();
    request.generated_token_ids.assign(all.begin(), all.begin() + done);
    FakeStepModel model(100, 4);
    EngineDriver driver(model);
    FakeClient& client = driver.Add(request);
    driver.Drive();
    EXPECT_EQ(client.token_ids(), std::vector<int32_t>(all.begin() + done, all.end()));
  }
}

TEST(EngineSamplingTest, NeverGivesWhatIsBanned) {
  const std::vector<int32_t> all = TokensAlone(FullRequest());
  EXPECT_THAT(all, Each(::testing::Ne(5)));
  const std::vector<int32_t> pair = {2, 3};
  EXPECT_EQ(std::search(all.begin(), all.end(), pair.begin(), pair.end()), all.end());
}

TEST(EngineSamplingTest, SaysOnceWhenTheFirstTokenIsThere) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  const absl::StatusOr<Engine::Submitted> submitted =
      driver.TrySubmit(EngineDriver::Request({1}, 3));
  PHYLLO_ASSERT_OK(submitted);
  driver.Step();
  submitted->outbox->Take();
  driver.engine().ProvideHiddenStates(submitted->id, 0, {1.0f, 0.0f});
  driver.Step();
  const SequenceNews first = submitted->outbox->Take();
  ASSERT_TRUE(first.prefilled.has_value());
  EXPECT_EQ(first.prefilled->generated_token_count, 1);
  driver.Step();
  EXPECT_FALSE(submitted->outbox->Take().prefilled.has_value());
}

// The rows of `prompt` under ids that say nothing.
FakeClient& AddRows(const std::vector<int32_t>& prompt, SequenceRequest request,
                    EngineDriver& driver) {
  request.prompt_token_ids.assign(prompt.size(), kNoTokenId);
  request.prompt_is_hidden_states = true;
  FakeClient& client = driver.Add(request);
  client.request.prompt_token_ids = prompt;  // whose rows the client sends
  return client;
}

TEST(EngineSamplingTest, ContinuesRowsAsItContinuesTheirIds) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model, {.max_prefill_rows = 3});
  FakeClient& client = AddRows(kPrompt, EngineDriver::Request({}, 12), driver);
  driver.Drive();
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation(kPrompt, 12));
}

TEST(EngineSamplingTest, AsksForRowsAgainAfterAPreemption) {
  FakeStepModel model(5, 4);
  EngineDriver driver(model);
  driver.Add(EngineDriver::Request({1, 2, 3, 4}, 14));
  FakeClient& client = AddRows({4, 3, 2, 1}, EngineDriver::Request({}, 8), driver);
  driver.Drive();
  ASSERT_TRUE(client.result.has_value());
  ASSERT_GT(client.result->preemption_count, 0);
  EXPECT_EQ(client.token_ids(), FakeStepModel::GreedyContinuation({4, 3, 2, 1}, 8));
}

TEST(EngineSamplingTest, PenalisesTheAnswerOnlyWhenThePromptHasNoIds) {
  SequenceRequest request = EngineDriver::Request({}, 12);
  request.sampling.presence_penalty = 100.0f;  // no token twice
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  FakeClient& client = AddRows(kPrompt, request, driver);
  driver.Drive();
  std::vector<int32_t> ids = client.token_ids();
  EXPECT_THAT(ids, SizeIs(12));
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

TEST(EngineSamplingTest, RefusesPromptsWithoutIdsUnlessTheyAreRows) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  SequenceRequest request = EngineDriver::Request({1, kNoTokenId}, 1);
  EXPECT_THAT(driver.TrySubmit(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("prompt_token_ids[1] is -1, must be in [0, 16)")));
  request.prompt_is_hidden_states = true;
  request.first_scored_index = 1;
  EXPECT_THAT(driver.TrySubmit(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be scored")));
}

}  // namespace
}  // namespace phyllo
