#include "services/transformer/startup/served_models.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/memory_budget.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::string Folder(const std::string& name) { return "tests/golden/data/models/" + name; }

class ServedModelsTest : public ::testing::Test {
 protected:
  absl::StatusOr<ServedModels> Load(const std::string& draft_folder) {
    return LoadServedModels({.model_folder = Folder("qwen3"),
                             .max_rows = 64,
                             .page_size = 16,
                             .kv_cache_bytes = int64_t{1} << 20,
                             .progress = [this](auto...) { has_read_weights_ = true; }},
                            draft_folder, logger_);
  }

  bool has_read_weights_ = false;

  std::ostringstream log_;
  Logger logger_{{"transformer", LogLevel::kInfo, LogFormat::kLogfmt, &log_}};
};

TEST_F(ServedModelsTest, LoadsOneModel) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ServedModels models, Load(""));
  EXPECT_EQ(models.draft.model, nullptr);
  EXPECT_EQ(models.draft.drafter, nullptr);
  ASSERT_EQ(models.weights().size(), 1);
  EXPECT_EQ(models.weights()[0].model, "model");
  EXPECT_EQ(log_.str(), "");
  EXPECT_TRUE(has_read_weights_);
}

TEST_F(ServedModelsTest, LoadsADraftModelBesideIt) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ServedModels models, Load(Folder("qwen2-swa")));
  EXPECT_NE(models.draft.drafter, nullptr);
  EXPECT_EQ(&models.draft.model->thread_pool(), &models.model->thread_pool());
  ASSERT_EQ(models.weights().size(), 2);
  EXPECT_EQ(models.weights()[1].model, "draft_model");
  EXPECT_THAT(log_.str(), HasSubstr("draft model ready"));
}

TEST_F(ServedModelsTest, NeedsThePagesOfBothModels) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ServedModels models, Load(Folder("qwen2-swa")));
  MemoryBudget request_memory("max_request_bytes", 1000);
  const EngineOptions options = {.max_prefill_rows = 16, .request_memory = &request_memory};
  const MemoryNeeds needs = NeedsOf(models, options, /*max_transport_bytes=*/2000);
  EXPECT_EQ(needs.kv_cache,
            KvCacheBytes(*models.model, models.model->kv_bytes_per_token()) +
                KvCacheBytes(*models.draft.model, models.draft.model->kv_bytes_per_token()));
  EXPECT_EQ(needs.requests, 1000);
  EXPECT_EQ(needs.transport, 2000);
  EXPECT_GT(needs.loaded, 0);
}

TEST_F(ServedModelsTest, RefusesADraftModelOfOtherTokensBeforeWeightsAreRead) {
  EXPECT_THAT(Load(Folder("gpt2")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("307 tokens")));
  EXPECT_FALSE(has_read_weights_);
}

TEST_F(ServedModelsTest, ReturnsTheErrorOfTheDraftModel) {
  EXPECT_THAT(Load("no/such/folder").status(), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace phyllo
