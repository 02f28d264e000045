#include "services/transformer/startup/transformer_settings.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TransformerSettings Valid() {
  return {.model = "somewhere",
          .precision = "int8,lm_head=bf16",
          .packed_cache = "off",
          .share_weights = "auto",
          .max_batch_tokens = 320,
          .max_prefill_tokens = 256,
          .max_step_stretch = 2.5,
          .max_sequences = 64,
          .max_queue_sequences = 1024,
          .max_queue_tokens = 262144,
          .page_size = 64,
          .speculation = "auto",
          .max_draft_tokens = 8,
          .max_unread_entries = 65536,
          .max_rows_wait = absl::Seconds(60)};
}

void ExpectRefused(const TransformerSettings& settings, const std::string& message) {
  EXPECT_THAT(CheckSettings(settings),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

TEST(TransformerSettingsTest, AcceptsWhatIsInRange) { PHYLLO_EXPECT_OK(CheckSettings(Valid())); }

TEST(TransformerSettingsTest, NamesTheFlagItsValueAndItsRange) {
  TransformerSettings settings = Valid();
  settings.max_draft_tokens = 17;
  ExpectRefused(settings, "--max_draft_tokens is 17, must be in [1, 16]");
  settings = Valid();
  settings.max_step_stretch = 0.5;
  ExpectRefused(settings, "--max_step_stretch is 0.5, must be in [1, 1000]");
  settings.max_step_stretch = std::numeric_limits<double>::quiet_NaN();
  ExpectRefused(settings, "--max_step_stretch is nan");
  settings = Valid();
  settings.max_prefill_tokens = 321;
  ExpectRefused(settings, "--max_prefill_tokens is 321, must be in [1, 320]");
  settings = Valid();
  settings.max_unread_entries = 0;
  ExpectRefused(settings, "--max_unread_entries is 0, must be in [1, ");
}

TEST(TransformerSettingsTest, RefusesAPageThatIsNoMultipleOf16Tokens) {
  TransformerSettings settings = Valid();
  settings.page_size = 40;
  ExpectRefused(settings, "--page_size is 40, must be a multiple of 16");
}

TEST(TransformerSettingsTest, NamesTheWordsThatAFlagTakes) {
  TransformerSettings settings = Valid();
  settings.speculation = "yes";
  ExpectRefused(settings, "--speculation is \"yes\", must be auto, on or off");
  settings = Valid();
  settings.share_weights = "";
  ExpectRefused(settings, "--share_weights is \"\", must be auto, on or off");
  settings = Valid();
  settings.precision = "int3";
  ExpectRefused(settings, "int3");
}

TEST(TransformerSettingsTest, RefusesADraftModelThatIsNotThere) {
  TransformerSettings settings = Valid();
  settings.draft_model = "no/such/folder";
  EXPECT_THAT(CheckSettings(settings),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("--draft_model"), HasSubstr("no/such/folder"))));
}

TEST(TransformerSettingsTest, WhatIsLeftOpenComesFromTheMachine) {
  HostResources host;
  host.cpus = {0, 1, 2, 3};
  host.physical_core_cpus = {0, 2};
  host.available_memory_bytes = int64_t{1} << 34;
  const LocalStepModelOptions options = ModelOptionsFrom(Valid(), host);
  EXPECT_EQ(options.num_threads, 2);
  EXPECT_EQ(options.memory_bytes, int64_t{1} << 34);
  EXPECT_EQ(options.kv_cache_bytes, std::nullopt);
  EXPECT_EQ(options.max_sequence_length, std::nullopt);
  EXPECT_EQ(MaxRequestBytesFrom(Valid(), options.memory_bytes), int64_t{1} << 30);
  EXPECT_EQ(MaxRequestBytesFrom(Valid(), 0), int64_t{64} << 20);
}

TEST(TransformerSettingsTest, WhatIsSetIsTaken) {
  TransformerSettings settings = Valid();
  settings.threads = 7;
  settings.memory_bytes = 1000;
  settings.kv_cache_bytes = 500;
  settings.max_request_bytes = 100;
  settings.max_sequence_length = 50;
  settings.speculation = "on";
  const LocalStepModelOptions options = ModelOptionsFrom(settings, HostResources());
  EXPECT_EQ(options.num_threads, 7);
  EXPECT_EQ(options.memory_bytes, 1000);
  EXPECT_EQ(options.kv_cache_bytes, 500);
  EXPECT_EQ(MaxRequestBytesFrom(settings, 1000), 100);
  const EngineOptions engine = EngineOptionsFrom(settings);
  EXPECT_EQ(engine.max_sequence_length, 50);
  EXPECT_EQ(engine.max_prefill_rows, 256);
  EXPECT_EQ(engine.speculation.mode, SpeculationMode::kOn);
}

}  // namespace
}  // namespace phyllo
