#include "services/transformer/engine/speculation/model_drafter.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::IsEmpty;

const std::vector<int32_t> kPrompt = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

std::unique_ptr<ModelDrafter> MakeDrafter(StepModel& model) {
  auto drafter = ModelDrafter::Create(model, {.least_probability = 0.0});
  PHYLLO_EXPECT_OK(drafter);
  return *std::move(drafter);
}

// What is drafted for sequence 1.
std::vector<int32_t> DraftFor(ModelDrafter& drafter, const std::vector<int32_t>& token_ids,
                              int64_t max_count) {
  std::vector<int32_t> tokens;
  const DraftTask task = {
      .id = 1, .token_ids = token_ids, .max_count = max_count, .tokens = &tokens};
  drafter.Draft({task});
  return tokens;
}

std::vector<int32_t> Append(std::vector<int32_t> tokens, const std::vector<int32_t>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

TEST(ModelDrafterTest, DraftsTheLikeliestTokens) {
  FakeStepModel model(100, 4);
  EXPECT_EQ(DraftFor(*MakeDrafter(model), kPrompt, 5),
            FakeStepModel::GreedyContinuation(kPrompt, 5));
}

TEST(ModelDrafterTest, GoesOnAfterAcceptedAndRejectedTokens) {
  FakeStepModel model(100, 4);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  std::vector<int32_t> text = kPrompt;
  for (int round = 0; round < 12; ++round) {
    const std::vector<int32_t> draft = DraftFor(*drafter, text, 4);
    ASSERT_EQ(draft, FakeStepModel::GreedyContinuation(text, 4)) << round;
    // Some of the draft, and a token that may be another.
    text.insert(text.end(), draft.begin(), draft.begin() + round % 5);
    text.push_back(static_cast<int32_t>(round % 13));
  }
}

TEST(ModelDrafterTest, ComputesTheNewTokensOnly) {
  FakeStepModel model(100, 4);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  const std::vector<int32_t> draft = DraftFor(*drafter, kPrompt, 3);
  const size_t before = model.steps().size();
  std::vector<int32_t> text = Append(kPrompt, draft);
  text.push_back(7);
  DraftFor(*drafter, text, 1);
  ASSERT_EQ(model.steps().size(), before + 1);
  // The last drafted token and the one behind it: the rows of those before are there.
  EXPECT_EQ(model.steps().back(), std::vector<int64_t>{2});
}

TEST(ModelDrafterTest, SaysWhatItComputed) {
  FakeStepModel model(100, 4);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  std::vector<int32_t> tokens;
  const DraftTask task = {.id = 1, .token_ids = kPrompt, .max_count = 3, .tokens = &tokens};
  const DraftWork first = drafter->Draft({task});
  EXPECT_EQ(first.token_row_count, static_cast<int64_t>(kPrompt.size()));
  EXPECT_EQ(first.round_count, 3);
  tokens.clear();
  const DraftWork second = drafter->Draft({task});
  EXPECT_EQ(second.token_row_count, 1) << "the last token, for the first guess";
  EXPECT_EQ(second.round_count, 3);
}

TEST(ModelDrafterTest, CatchesUpWithALongPromptOverSeveralCalls) {
  FakeStepModel model(100, 4, /*max_rows=*/4);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  EXPECT_THAT(DraftFor(*drafter, kPrompt, 5), IsEmpty());
  EXPECT_THAT(DraftFor(*drafter, kPrompt, 5), IsEmpty());
  EXPECT_EQ(DraftFor(*drafter, kPrompt, 5), FakeStepModel::GreedyContinuation(kPrompt, 5));
}

TEST(ModelDrafterTest, DraftsForSeveralSequencesInOneBatch) {
  FakeStepModel model(100, 4, /*max_rows=*/64, /*max_logits_rows=*/2);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  const std::vector<std::vector<int32_t>> texts = {kPrompt, {1}, {2, 7, 1}};
  std::vector<std::vector<int32_t>> drafts(texts.size());
  std::vector<DraftTask> tasks;
  for (size_t i = 0; i < texts.size(); ++i) {
    tasks.push_back({.id = static_cast<SequenceId>(i),
                     .token_ids = texts[i],
                     .max_count = 2 + static_cast<int64_t>(i),
                     .tokens = &drafts[i]});
  }
  drafter->Draft(tasks);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(drafts[i], FakeStepModel::GreedyContinuation(texts[i], 2 + static_cast<int64_t>(i)));
  }
  EXPECT_EQ(model.steps().size(), 4);
}

TEST(ModelDrafterTest, EndsADraftAtAnUnlikelyToken) {
  FakeStepModel model(100, 4);
  auto drafter = ModelDrafter::Create(model, {.least_probability = 1.1});
  PHYLLO_ASSERT_OK(drafter);
  EXPECT_THAT(DraftFor(**drafter, kPrompt, 5), IsEmpty());
}

TEST(ModelDrafterTest, GivesNoDraftWithoutPagesAndGivesBackWhatItForgets) {
  FakeStepModel model(/*page_count=*/3, 4);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  EXPECT_EQ(DraftFor(*drafter, kPrompt, 8).size(), 3) << "two slots are left in the last page";
  std::vector<int32_t> tokens;
  drafter->Draft({DraftTask{.id = 2, .token_ids = kPrompt, .max_count = 2, .tokens = &tokens}});
  EXPECT_THAT(tokens, IsEmpty());
  drafter->Forget(1);
  drafter->Draft({DraftTask{.id = 2, .token_ids = kPrompt, .max_count = 2, .tokens = &tokens}});
  EXPECT_EQ(tokens, FakeStepModel::GreedyContinuation(kPrompt, 2));
  drafter->Forget(2);
  EXPECT_EQ(model.page_allocator().free_count(), 3);
}

TEST(ModelDrafterTest, GivesNoDraftForTokensWithoutIdsAndBeyondItsPositions) {
  FakeStepModel model(100, 4, 64, 4, /*max_positions=*/12);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  EXPECT_THAT(DraftFor(*drafter, {1, kNoTokenId, 2}, 3), IsEmpty());
  drafter->Forget(1);
  EXPECT_THAT(DraftFor(*drafter, kPrompt, 3), IsEmpty());
  EXPECT_EQ(DraftFor(*drafter, kPrompt, 2).size(), 2);
}

TEST(ModelDrafterTest, AModelThatFailsGivesNoDraftAndStartsAgain) {
  FakeStepModel model(100, 4);
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(model);
  DraftFor(*drafter, kPrompt, 3);
  model.set_on_forward([] { return absl::InternalError("broken"); });
  EXPECT_THAT(DraftFor(*drafter, kPrompt, 3), IsEmpty());
  model.set_on_forward(nullptr);
  EXPECT_EQ(DraftFor(*drafter, kPrompt, 3), FakeStepModel::GreedyContinuation(kPrompt, 3));
}

TEST(ModelDrafterTest, RefusesAModelWithoutLmHead) {
  FakeStepModel model(100, 4);
  model.set_head(HeadKind::kLabels, 2);
  EXPECT_THAT(ModelDrafter::Create(model, {}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

// An engine that drafts with `draft_model`, in mode on; all tokens must be those of the full model.
void ExpectSameTokens(FakeStepModel& draft_model, int64_t page_count, double least_accepted) {
  const std::unique_ptr<ModelDrafter> drafter = MakeDrafter(draft_model);
  FakeStepModel model(page_count, 4);
  EngineDriver driver(
      model,
      {.max_prefill_rows = 8,
       .speculation = {.mode = SpeculationMode::kOn, .ngrams = false, .drafter = drafter.get()}});
  std::vector<FakeClient*> clients;
  for (int32_t i = 0; i < 6; ++i) {
    std::vector<int32_t> prompt = kPrompt;
    prompt.push_back(i);
    clients.push_back(&driver.Add(EngineDriver::Request(prompt, 40)));
  }
  driver.Drive();
  for (const FakeClient* const client : clients) {
    EXPECT_EQ(client->token_ids(),
              FakeStepModel::GreedyContinuation(client->request.prompt_token_ids, 40));
    EXPECT_GE(static_cast<double>(client->result->accepted_token_count),
              least_accepted * static_cast<double>(client->result->drafted_token_count));
    EXPECT_GT(client->result->drafted_token_count, 10);
  }
  if (page_count < 60) {
    EXPECT_GT(driver.engine().stats().preemption_count, 0);
  }
  EXPECT_EQ(drafter->sequence_count(), 0);
  EXPECT_EQ(draft_model.page_allocator().free_count(), draft_model.page_allocator().page_count());
}

TEST(ModelDrafterTest, AModelThatAgreesIsAccepted) {
  FakeStepModel draft_model(200, 4);
  ExpectSameTokens(draft_model, /*page_count=*/200, /*least_accepted=*/1.0);
}

TEST(ModelDrafterTest, PreemptedSequencesGoOnWithTheSameTokens) {
  FakeStepModel draft_model(200, 4);
  ExpectSameTokens(draft_model, /*page_count=*/30, /*least_accepted=*/1.0);
}

TEST(ModelDrafterTest, AModelThatDisagreesChangesNoToken) {
  FakeStepModel draft_model({200}, FakeStepModel::Windows{3}, 4);
  ExpectSameTokens(draft_model, /*page_count=*/200, /*least_accepted=*/0.0);
}

}  // namespace
}  // namespace phyllo
