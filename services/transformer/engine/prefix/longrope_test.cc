// Answers of a Phi-3 that grow past original_max_position_embeddings (64 here), where all keys are
// computed anew with the long factors.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tensor/linear_input.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/replay_drafter.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {
namespace {

constexpr int64_t kNewTokens = 40;

// The greedy answers of transformers 5.12.1 to PromptOf(40) and PromptOf(60), in float32 with eager
// attention on one thread: generate(ids, do_sample=False, max_new_tokens=40, eos_token_id=None,
// use_cache=False), and the same tokens from forward passes by hand with a cache that is dropped
// when the text has 65 tokens. The smallest difference of the two largest logits is 0.003, 15 times
// the tolerance of the model's golden test. With use_cache=True that version is no reference: once
// its cache is dropped, generate gives the model the last token alone, at every step.
const std::vector<int32_t>& AnswerTo(int64_t prompt_count) {
  static const auto& answer_to_40 =
      *new std::vector<int32_t>{365, 347, 179, 16,  347, 352, 135, 467, 199, 282, 439, 158, 52, 0,
                                70,  105, 70,  105, 307, 456, 382, 287, 279, 108, 105, 193, 74, 438,
                                105, 289, 34,  401, 75,  291, 460, 456, 476, 439, 456, 2};
  static const auto& answer_to_60 =
      *new std::vector<int32_t>{413, 86,  401, 283, 382, 279, 24,  426, 337, 139, 15,  86, 103, 287,
                                230, 105, 228, 179, 105, 202, 324, 88,  25,  499, 445, 25, 70,  468,
                                463, 52,  17,  44,  468, 419, 105, 276, 398, 388, 492, 105};
  return prompt_count == 40 ? answer_to_40 : answer_to_60;
}

std::vector<int32_t> PromptOf(int64_t count) {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < count; ++i) prompt.push_back((i * 37 + 11) % 509 + 3);
  return prompt;
}

SequenceRequest RequestOf(int64_t prompt_count, bool use_prefix_cache = false) {
  SequenceRequest request = EngineDriver::Request(PromptOf(prompt_count), kNewTokens);
  request.ignore_eos = true;
  request.use_prefix_cache = use_prefix_cache;
  return request;
}

// The request as another server that has produced `count` tokens passes it on.
SequenceRequest MovedAfter(int64_t count, SequenceRequest request) {
  const std::vector<int32_t>& answer =
      AnswerTo(static_cast<int64_t>(request.prompt_token_ids.size()));
  request.generated_token_ids.assign(answer.begin(), answer.begin() + count);
  return request;
}

class LongropeTest : public ::testing::Test {
 protected:
  // With a cache for one sequence of `max_sequence_length` tokens.
  void Start(EngineOptions options, int64_t max_sequence_length = 256) {
    absl::StatusOr<std::unique_ptr<LocalStepModel>> model =
        LocalStepModel::Load({.model_folder = "tests/golden/data/models/phi3-longrope",
                              .precision = {.base = Precision::kF32},
                              .max_rows = 64,
                              .page_size = 16,
                              .kv_cache_bytes = int64_t{1} << 30,
                              .max_sequences = 1,
                              .max_sequence_length = max_sequence_length});
    PHYLLO_ASSERT_OK(model);
    model_ = *std::move(model);
    driver_ = std::make_unique<EngineDriver>(*model_, std::move(options));
  }

  std::unique_ptr<LocalStepModel> model_;
  std::unique_ptr<EngineDriver> driver_;
};

TEST_F(LongropeTest, AnswersAsTheReferenceWhenTheTextOutgrowsTheOriginalLength) {
  Start({.max_prefill_rows = 64});
  for (const int64_t prompt_count : {40, 60}) {
    const FakeClient& client = driver_->Add(RequestOf(prompt_count));
    driver_->Drive();
    EXPECT_EQ(client.token_ids(), AnswerTo(prompt_count)) << prompt_count;
    EXPECT_EQ(client.result->preemption_count, 0);
  }
  EXPECT_EQ(driver_->engine().stats().pages.used_count, 0);
}

TEST_F(LongropeTest, ChunksAndCompanyChangeNothing) {
  Start({.max_prefill_rows = 7});
  std::vector<const FakeClient*> clients;
  for (const int64_t prompt_count : {60, 40})
    clients.push_back(&driver_->Add(RequestOf(prompt_count)));
  driver_->Drive();
  EXPECT_EQ(clients[0]->token_ids(), AnswerTo(60));
  EXPECT_EQ(clients[1]->token_ids(), AnswerTo(40));
}

TEST_F(LongropeTest, PreemptedSequencesGoOnWithTheSameTokens) {
  Start({.max_prefill_rows = 16}, /*max_sequence_length=*/128);
  std::vector<const FakeClient*> clients;
  for (const int64_t prompt_count : {60, 40, 60, 40})
    clients.push_back(&driver_->Add(RequestOf(prompt_count)));
  driver_->Drive();
  EXPECT_GT(driver_->engine().stats().preemption_count, 0);
  for (const FakeClient* client : clients) {
    EXPECT_EQ(client->token_ids(),
              AnswerTo(static_cast<int64_t>(client->request.prompt_token_ids.size())));
  }
}

TEST_F(LongropeTest, PrefixCacheKeepsOnlyKeysOfTheOriginalLength) {
  Start({.max_prefill_rows = 64});
  for (const int64_t cached_count : {0, 59}) {
    const FakeClient& client = driver_->Add(RequestOf(60, /*use_prefix_cache=*/true));
    driver_->Drive();
    EXPECT_EQ(client.token_ids(), AnswerTo(60)) << cached_count;
    EXPECT_EQ(client.result->cached_prompt_token_count, cached_count);
  }
}

TEST_F(LongropeTest, GoesOnAfterGivenTokensAsIfItHadNeverStopped) {
  Start({.max_prefill_rows = 64});
  const std::vector<int32_t>& answer = AnswerTo(60);
  for (const int64_t count : {3, 4, 5, 6, 30}) {
    const FakeClient& client =
        driver_->Add(MovedAfter(count, RequestOf(60, /*use_prefix_cache=*/true)));
    driver_->Drive();
    EXPECT_EQ(client.token_ids(), std::vector<int32_t>(answer.begin() + count, answer.end()))
        << count;
  }
}

TEST_F(LongropeTest, ScoresThePromptForItsOwnLengthAfterGivenTokensToo) {
  Start({.max_prefill_rows = 64});
  SequenceRequest request = RequestOf(60);
  request.first_scored_index = 1;
  const FakeClient& whole = driver_->Add(request);
  const FakeClient& moved = driver_->Add(MovedAfter(10, request));
  driver_->Drive();
  EXPECT_EQ(moved.token_ids(), std::vector<int32_t>(AnswerTo(60).begin() + 10, AnswerTo(60).end()));
  ASSERT_EQ(moved.scored_tokens.size(), 59u);
  ASSERT_EQ(whole.scored_tokens.size(), 59u);
  for (size_t i = 0; i < moved.scored_tokens.size(); ++i)
    EXPECT_EQ(moved.scored_tokens[i].logprob, whole.scored_tokens[i].logprob) << i;
}

TEST_F(LongropeTest, DraftsDoNotReachOverTheLengthThatIsComputedAnew) {
  for (const double error_rate : {0.0, 0.4}) {
    ReplayDrafter drafter(/*vocab_size=*/500, error_rate);
    for (const int64_t prompt_count : {40, 60}) {
      std::vector<int32_t> text = PromptOf(prompt_count);
      const std::vector<int32_t>& answer = AnswerTo(prompt_count);
      text.insert(text.end(), answer.begin(), answer.end());
      drafter.Learn(std::move(text));
    }
    driver_.reset();  // before its model
    Start({.max_prefill_rows = 64,
           .speculation = {.mode = SpeculationMode::kOn,
                           .max_draft_tokens = kMaxDraftTokens,
                           .drafter = &drafter}});
    std::vector<const FakeClient*> clients;
    for (const int64_t prompt_count : {60, 40})
      clients.push_back(&driver_->Add(RequestOf(prompt_count, /*use_prefix_cache=*/true)));
    driver_->Drive();
    EXPECT_EQ(clients[0]->token_ids(), AnswerTo(60)) << error_rate;
    EXPECT_EQ(clients[1]->token_ids(), AnswerTo(40)) << error_rate;
    EXPECT_GT(clients[0]->result->accepted_token_count, 10);
  }
}

}  // namespace
}  // namespace phyllo
