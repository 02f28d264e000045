// A small model that drafts for another, with real checkpoints.
#include "services/transformer/draft_model/draft_model.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/sampling/philox.h"
#include "services/transformer/engine/testing/engine_driver.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::string Folder(const std::string& name) { return "tests/golden/data/models/" + name; }

LocalStepModelOptions OptionsOf(const std::string& name) {
  return {.model_folder = Folder(name),
          .num_threads = 2,
          .max_rows = 64,
          .page_size = 16,
          .kv_cache_bytes = int64_t{1} << 28,
          .max_sequences = 8,
          .max_sequence_length = 256};
}

// The answers of a qwen3 to a greedy and to sampled requests, with drafts of `draft_name` (none if
// empty). Of the drafts as many are accepted as `accepted_count` says.
std::vector<std::vector<int32_t>> AnswersWith(const std::string& draft_name,
                                              int64_t& accepted_count) {
  absl::StatusOr<std::unique_ptr<LocalStepModel>> model = LocalStepModel::Load(OptionsOf("qwen3"));
  PHYLLO_EXPECT_OK(model);
  DraftModel draft;
  EngineOptions options = {.max_prefill_rows = 16};
  if (!draft_name.empty()) {
    absl::StatusOr<DraftModel> loaded = LoadDraftModel(OptionsOf(draft_name), **model);
    PHYLLO_EXPECT_OK(loaded);
    draft = *std::move(loaded);
    options.speculation = {
        .mode = SpeculationMode::kOn, .ngrams = false, .drafter = draft.drafter.get()};
  }
  EngineDriver driver(**model, std::move(options));
  std::vector<FakeClient*> clients;
  for (int index = 0; index < 6; ++index) {
    std::vector<int32_t> prompt;
    for (int64_t i = 0; i < 3 + 10 * index; ++i)
      prompt.push_back(static_cast<int32_t>(UniformDraw(8, index, i) * 500));
    SequenceRequest request = EngineDriver::Request(std::move(prompt), 40);
    request.ignore_eos = true;
    request.sampling.seed = 50 + index;
    request.sampling.temperature = 0.3f * static_cast<float>(index % 3);
    clients.push_back(&driver.Add(std::move(request)));
  }
  driver.Drive();
  std::vector<std::vector<int32_t>> answers;
  for (const FakeClient* const client : clients) {
    answers.push_back(client->token_ids());
    accepted_count += client->result->accepted_token_count;
  }
  if (draft.drafter != nullptr) {
    EXPECT_EQ(draft.drafter->sequence_count(), 0);
  }
  return answers;
}

TEST(DraftModelTest, ChangesNoTokenWhetherItAgreesOrNot) {
  int64_t accepted_count = 0;
  const std::vector<std::vector<int32_t>> want = AnswersWith("", accepted_count);
  EXPECT_EQ(accepted_count, 0);
  EXPECT_EQ(AnswersWith("qwen3", accepted_count), want);
  EXPECT_GT(accepted_count, 0) << "the model itself foresees some of its tokens";
  EXPECT_EQ(AnswersWith("qwen2-swa", accepted_count), want);
}

TEST(DraftModelTest, RefusesAModelWithOtherTokens) {
  EXPECT_THAT(
      CheckSameTokens(Folder("qwen3"), Folder("gpt2")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the draft model has 307 tokens, the model it drafts for has 512")));
}

TEST(DraftModelTest, TakesAQuarterOfTheMemory) {
  LocalStepModelOptions options = OptionsOf("qwen3");
  options.memory_bytes = 1000;
  options.kv_cache_bytes = 400;
  const LocalStepModelOptions draft = SplitOffDraftModel("small", options);
  EXPECT_EQ(draft.model_folder, "small");
  EXPECT_EQ(draft.memory_bytes, 250);
  EXPECT_EQ(draft.kv_cache_bytes, 100);
  EXPECT_EQ(options.memory_bytes, 750);
  EXPECT_EQ(options.kv_cache_bytes, 300);
}

}  // namespace
}  // namespace phyllo
