#include "services/transformer/model_info.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

TEST(DefaultSamplingTest, SaysOnlyWhatTheFileSays) {
  const common::v1::SamplingParameters sampling = DefaultSampling({});
  EXPECT_EQ(sampling.ByteSizeLong(), 0u);
}

TEST(DefaultSamplingTest, CarriesTheFilesValues) {
  GenerationConfig config;
  config.do_sample = true;
  config.temperature = 0.5;
  config.top_k = 20;
  config.top_p = 0.75;
  config.repetition_penalty = 1.25;
  const common::v1::SamplingParameters sampling = DefaultSampling(config);
  EXPECT_EQ(sampling.temperature(), 0.5f);
  EXPECT_EQ(sampling.top_k(), 20);
  EXPECT_EQ(sampling.top_p(), 0.75f);
  EXPECT_EQ(sampling.repetition_penalty(), 1.25f);
  EXPECT_FALSE(sampling.has_min_p());
}

TEST(DefaultSamplingTest, CarriesWhatForbidsAndFavoursTokens) {
  GenerationConfig config;
  config.typical_p = 0.75;
  config.no_repeat_ngram_size = 3;
  config.banned_token_sequences = {{7, 8}, {9}};
  config.logit_bias = {{5, -1.5}};
  const common::v1::SamplingParameters sampling = DefaultSampling(config);
  EXPECT_EQ(sampling.typical_p(), 0.75f);
  EXPECT_EQ(sampling.no_repeat_ngram_size(), 3);
  ASSERT_EQ(sampling.banned_token_sequences_size(), 2);
  EXPECT_EQ(sampling.banned_token_sequences(0).token_ids_size(), 2);
  EXPECT_EQ(sampling.banned_token_sequences(0).token_ids(1), 8);
  EXPECT_EQ(sampling.banned_token_sequences(1).token_ids(0), 9);
  EXPECT_EQ(sampling.logit_bias().at(5), -1.5f);
}

TEST(DefaultSamplingTest, IsOffAtZero) {
  GenerationConfig config;
  config.typical_p = 0.0;
  config.no_repeat_ngram_size = 0;
  EXPECT_EQ(DefaultSampling(config).ByteSizeLong(), 0u);
}

TEST(DefaultSamplingTest, IsGreedyWithoutSamplingAndUnlimitedAtTopKZero) {
  GenerationConfig config;
  config.do_sample = false;
  config.temperature = 0.5;
  config.top_k = 0;
  const common::v1::SamplingParameters sampling = DefaultSampling(config);
  EXPECT_EQ(sampling.temperature(), 0.0f);
  EXPECT_TRUE(sampling.has_temperature());
  EXPECT_FALSE(sampling.has_top_k());
}

TEST(ToProblemTypeTest, KnowsTheNamesOfConfigJson) {
  EXPECT_EQ(ToProblemType("regression"), common::v1::PROBLEM_TYPE_REGRESSION);
  EXPECT_EQ(ToProblemType("multi_label_classification"),
            common::v1::PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION);
  EXPECT_EQ(ToProblemType("single_label_classification"),
            common::v1::PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION);
  EXPECT_EQ(ToProblemType(""), common::v1::PROBLEM_TYPE_UNSPECIFIED);
}

TEST(WarmUpTest, ComputesOneTokenAndFreesItsPage) {
  FakeStepModel model(2, 4);
  PHYLLO_EXPECT_OK(WarmUp(model));
  EXPECT_EQ(model.steps().size(), 1u);
  EXPECT_EQ(model.page_allocator().free_count(), 2);
}

TEST(WarmUpTest, DoesWithoutAnLmHead) {
  FakeStepModel model(2, 4);
  model.set_head(HeadKind::kNone, 0);
  PHYLLO_EXPECT_OK(WarmUp(model));
}

TEST(WarmUpTest, ReturnsTheModelsError) {
  FakeStepModel model(2, 4);
  model.set_on_forward([] { return absl::InternalError("broken"); });
  EXPECT_THAT(WarmUp(model), StatusIs(absl::StatusCode::kInternal, "broken"));
}

}  // namespace
}  // namespace phyllo
