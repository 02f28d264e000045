// Cancel and preemption with real checkpoints, one of each kind that keeps something of its own
// between steps or takes another way through them: a mixture of experts, sliding windows, learned
// positions. Of the models with windows one that has full attention too: where all layers slide a
// sequence never needs more pages than it was admitted with, and nothing is preempted.
// determinism_test.cc has the bits; engine_test.cc and engine_failure_test.cc every
// case, with a fake model.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/sampling/philox.h"
#include "model/tensor/linear_input.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {
namespace {

constexpr int kRequestCount = 6;
constexpr int64_t kNewTokens = 24;

class RealModelTest : public ::testing::TestWithParam<std::string> {
 protected:
  // With room for sequences of `max_sequence_length` tokens, one at full length.
  static std::unique_ptr<LocalStepModel> Load(int64_t max_sequence_length) {
    absl::StatusOr<std::unique_ptr<LocalStepModel>> model =
        LocalStepModel::Load({.model_folder = absl::StrCat("tests/golden/data/models/", GetParam()),
                              .precision = {.base = Precision::kF32},
                              .num_threads = 2,
                              .max_rows = 64,
                              .page_size = 16,
                              .kv_cache_bytes = int64_t{1} << 30,
                              .max_sequences = 1,
                              .max_sequence_length = max_sequence_length});
    PHYLLO_EXPECT_OK(model);
    return model.ok() ? *std::move(model) : nullptr;
  }

  // Prompts of 20 to 45 tokens, longer than a page and than the windows.
  static SequenceRequest Request(int index, int64_t vocab_size) {
    std::vector<int32_t> prompt;
    for (int64_t i = 0; i < 20 + 5 * index; ++i) {
      prompt.push_back(
          static_cast<int32_t>(UniformDraw(7, index, i) * static_cast<double>(vocab_size)));
    }
    SequenceRequest request = EngineDriver::Request(std::move(prompt), kNewTokens);
    request.ignore_eos = true;
    return request;
  }

  // All requests, in order, in the engine of `driver`.
  static std::vector<FakeClient*> AddRequests(EngineDriver& driver, const LocalStepModel& model) {
    std::vector<FakeClient*> clients;
    for (int i = 0; i < kRequestCount; ++i)
      clients.push_back(&driver.Add(Request(i, model.sizes().vocab_size)));
    return clients;
  }

  // The tokens of every request when it runs alone.
  static std::vector<std::vector<int32_t>> RunAlone() {
    const std::unique_ptr<LocalStepModel> model = Load(1024);
    std::vector<std::vector<int32_t>> tokens(kRequestCount);
    if (model == nullptr) return tokens;
    EngineDriver driver(*model, {.max_prefill_rows = 64});
    for (int i = 0; i < kRequestCount; ++i) {
      const FakeClient& client = driver.Add(Request(i, model->sizes().vocab_size));
      driver.Drive();
      tokens[i] = client.token_ids();
      EXPECT_EQ(tokens[i].size(), kNewTokens);
    }
    return tokens;
  }
};

TEST_P(RealModelTest, CancelStopsOneSequenceAndLeavesTheOthersTheirTokens) {
  const std::vector<std::vector<int32_t>> want = RunAlone();
  const std::unique_ptr<LocalStepModel> model = Load(1024);
  ASSERT_NE(model, nullptr);
  EngineDriver driver(*model, {.max_prefill_rows = 16});
  const std::vector<FakeClient*> clients = AddRequests(driver, *model);
  // One in the middle of its prompt, one in the middle of its answer.
  driver.Step();
  driver.Step();
  driver.engine().Cancel(clients[5]->id);
  while (clients[1]->tokens.size() < 5) ASSERT_TRUE(driver.Step());
  driver.engine().Cancel(clients[1]->id);
  driver.Drive();
  for (int i = 0; i < kRequestCount; ++i) {
    ASSERT_TRUE(clients[i]->result.has_value()) << i;
    if (i == 1 || i == 5) {
      EXPECT_THAT(clients[i]->result->status, StatusIs(absl::StatusCode::kCancelled));
    } else {
      PHYLLO_EXPECT_OK(clients[i]->result->status);
      EXPECT_EQ(clients[i]->token_ids(), want[i]) << i;
    }
  }
  EXPECT_EQ(driver.engine().stats().pages.used_count, 0);
}

TEST_P(RealModelTest, PreemptedSequencesGoOnWithTheSameTokens) {
  const std::vector<std::vector<int32_t>> want = RunAlone();
  const std::unique_ptr<LocalStepModel> model = Load(112);
  ASSERT_NE(model, nullptr);
  EngineDriver driver(*model, {.max_prefill_rows = 16});
  const std::vector<FakeClient*> clients = AddRequests(driver, *model);
  driver.Drive();
  EXPECT_GT(driver.engine().stats().preemption_count, 0);
  for (int i = 0; i < kRequestCount; ++i) EXPECT_EQ(clients[i]->token_ids(), want[i]) << i;
  EXPECT_EQ(driver.engine().stats().pages.used_count, 0);
}

TEST_P(RealModelTest, CancelOfAPreemptedSequenceLeavesTheOthersTheirTokens) {
  const std::vector<std::vector<int32_t>> want = RunAlone();
  const std::unique_ptr<LocalStepModel> model = Load(112);
  ASSERT_NE(model, nullptr);
  EngineDriver driver(*model, {.max_prefill_rows = 16});
  const std::vector<FakeClient*> clients = AddRequests(driver, *model);
  while (driver.engine().stats().preemption_count == 0) ASSERT_TRUE(driver.Step());
  // The last in order of service is the one that lost its pages, or has none yet.
  driver.engine().Cancel(clients[kRequestCount - 1]->id);
  driver.Drive();
  EXPECT_THAT(clients[kRequestCount - 1]->result->status, StatusIs(absl::StatusCode::kCancelled));
  for (int i = 0; i + 1 < kRequestCount; ++i) EXPECT_EQ(clients[i]->token_ids(), want[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Models, RealModelTest, ::testing::Values("qwen3_moe", "qwen2-swa", "gpt2"),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           return absl::StrReplaceAll(info.param, {{"-", ""}, {"_", ""}});
                         });

}  // namespace
}  // namespace phyllo
