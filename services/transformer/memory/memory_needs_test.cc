#include "services/transformer/memory/memory_needs.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/message_limits.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MemoryNeedsTest, CountsEveryPart) {
  // hidden_size 2, 16 logits, 64 rows, 4 rows of logits.
  const FakeStepModel model(/*page_count=*/10, /*page_size=*/4);
  const EngineOptions options = {.max_prefill_rows = 8, .max_sequences = 3};
  const MemoryNeeds needs = NeedsOf(model, options,
                                    {.loaded_bytes = 1000,
                                     .kv_bytes_per_token = 100,
                                     .max_request_bytes = 8000,
                                     .max_transport_bytes = 2000,
                                     .reading_threads = 2});
  EXPECT_EQ(needs.loaded, 1000);
  EXPECT_GE(needs.kv_cache, 10 * 4 * 100);
  EXPECT_GE(needs.step_buffers, (64 * 2 + 4 * 16) * 4);
  EXPECT_EQ(needs.prompt_rows, (3 + 1) * 2 * 8 * 2 * 4);
  EXPECT_EQ(needs.requests, 8000);
  EXPECT_EQ(needs.transport, 2000);
  EXPECT_EQ(needs.messages, 2 * 2 * MaxRequestMessageBytes(model.sizes(), options));
  EXPECT_EQ(needs.total(), needs.loaded + needs.kv_cache + needs.step_buffers + needs.prompt_rows +
                               needs.requests + needs.transport + needs.messages + needs.program);
}

TEST(MemoryNeedsTest, RefusesNeedsOverTheLimitNamingPartsAndFlags) {
  MemoryNeeds needs;
  needs.loaded = 600;
  needs.kv_cache = 500;
  PHYLLO_EXPECT_OK(CheckMemoryNeeds(needs, 1100));
  PHYLLO_EXPECT_OK(CheckMemoryNeeds(needs, 0));
  EXPECT_THAT(CheckMemoryNeeds(needs, 1099),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1100 bytes, the limit is 1099"),
                             HasSubstr("KV cache 500 (--kv_cache_bytes)"))));
}

TEST(MemoryNeedsTest, MessagesHaveRoomForRowsAndIdsWithinTheTransportsBound) {
  StepModelSizes sizes = {.hidden_size = 1000, .vocab_size = 10, .max_positions = 100};
  EXPECT_GT(MaxRequestMessageBytes(sizes, {.max_prefill_rows = 1000}), 1000 * 1000 * 4);
  sizes = {.hidden_size = 1, .vocab_size = 100000, .max_positions = 100000};
  EXPECT_GT(MaxRequestMessageBytes(sizes, {.max_prefill_rows = 1}), 200000 * 5);
  sizes.max_positions = int64_t{1} << 30;
  EXPECT_EQ(MaxRequestMessageBytes(sizes, {.max_prefill_rows = 1}), kMaxMessageBytes);
}

TEST(MemoryNeedsTest, ReadsAnonymousMemoryOfTheProcess) {
  EXPECT_EQ(ParseAnonymousBytes("VmRSS:\t  99 kB\nRssAnon:\t   5120 kB\nRssFile:\t 7 kB\n"),
            5120 * 1024);
  EXPECT_EQ(ParseAnonymousBytes("VmRSS:\t  99 kB\n"), 0);
  EXPECT_GT(ReadAnonymousBytes(), 0);
}

}  // namespace
}  // namespace phyllo
