#include "clients/bench/workload.h"

#include <algorithm>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

constexpr int64_t kVocabSize = 100;

LoadOptions SmallOptions() {
  LoadOptions options;
  options.prompt_tokens = LengthDistribution(6);
  options.output_tokens = LengthDistribution(4);
  return options;
}

Workload Make(const LoadOptions& options, std::vector<int32_t> text_ids = {}) {
  absl::StatusOr<Workload> workload = Workload::Create(options, kVocabSize, 1000, text_ids);
  PHYLLO_EXPECT_OK(workload);
  return *std::move(workload);
}

std::vector<int32_t> Ids(const gateway::v1::GenerateRequest& request) {
  return {request.token_ids().ids().begin(), request.token_ids().ids().end()};
}

TEST(WorkloadTest, RequestHasTheLengthsAndIsGreedyToTheEnd) {
  Workload workload = Make(SmallOptions());
  Chat chat = workload.NewChat();
  const gateway::v1::GenerateRequest request = workload.NextTurn(chat);
  EXPECT_THAT(Ids(request), AllOf(::testing::SizeIs(6), Each(AllOf(Ge(0), Lt(kVocabSize)))));
  EXPECT_EQ(request.stopping().max_new_tokens(), 4);
  EXPECT_TRUE(request.stopping().ignore_eos());
  EXPECT_EQ(request.sampling().temperature(), 0);
  EXPECT_TRUE(request.sampling().has_seed());
  EXPECT_TRUE(request.output().token_ids());
  EXPECT_TRUE(workload.IsOver(chat));
}

TEST(WorkloadTest, SettingsOfTheCallerStay) {
  LoadOptions options = SmallOptions();
  options.request.mutable_sampling()->set_temperature(0.5);
  options.request.mutable_sampling()->set_seed(9);
  options.request.mutable_stopping()->set_ignore_eos(false);
  options.request.mutable_context()->set_prefix_cache_salt("mine");
  Workload workload = Make(options);
  Chat chat = workload.NewChat();
  const gateway::v1::GenerateRequest request = workload.NextTurn(chat);
  EXPECT_EQ(request.sampling().temperature(), 0.5);
  EXPECT_EQ(request.sampling().seed(), 9);
  EXPECT_FALSE(request.stopping().ignore_eos());
  EXPECT_EQ(request.context().prefix_cache_salt(), "mine");
}

TEST(WorkloadTest, ChatsDependOnSeedAndIndexOnly) {
  Workload a = Make(SmallOptions()), b = Make(SmallOptions());
  Chat a0 = a.NewChat(), a1 = a.NewChat(), b0 = b.NewChat(), b1 = b.NewChat();
  // The other order.
  const std::vector<int32_t> second = Ids(a.NextTurn(a1)), first = Ids(a.NextTurn(a0));
  EXPECT_EQ(Ids(b.NextTurn(b0)), first);
  EXPECT_EQ(Ids(b.NextTurn(b1)), second);
  EXPECT_NE(first, second);
  LoadOptions other = SmallOptions();
  other.seed = 2;
  Workload c = Make(other);
  Chat c0 = c.NewChat();
  EXPECT_NE(Ids(c.NextTurn(c0)), first);
}

TEST(WorkloadTest, TurnGoesOnWithTheChatAndItsAnswers) {
  LoadOptions options = SmallOptions();
  options.turns = 2;
  Workload workload = Make(options);
  Chat chat = workload.NewChat();
  std::vector<int32_t> expected = Ids(workload.NextTurn(chat));
  EXPECT_FALSE(workload.IsOver(chat));
  chat.token_ids.insert(chat.token_ids.end(), {77, 78});
  expected.insert(expected.end(), {77, 78});
  std::vector<int32_t> second = Ids(workload.NextTurn(chat));
  ASSERT_EQ(second.size(), 6 + 2 + 6);
  second.resize(8);
  EXPECT_EQ(second, expected);
  EXPECT_TRUE(workload.IsOver(chat));
}

TEST(WorkloadTest, AllChatsBeginWithTheSharedPrefix) {
  LoadOptions options = SmallOptions();
  options.shared_prefix_tokens = 5;
  Workload workload = Make(options);
  Chat a = workload.NewChat(), b = workload.NewChat();
  const std::vector<int32_t> first = Ids(workload.NextTurn(a)), second = Ids(workload.NextTurn(b));
  ASSERT_EQ(first.size(), 11);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 5, second.begin()));
  EXPECT_NE(first, second);
}

TEST(WorkloadTest, RunsDoNotShareThePrefixCacheButTheirRequestsDo) {
  Workload a = Make(SmallOptions()), b = Make(SmallOptions());
  Chat a0 = a.NewChat(), a1 = a.NewChat(), b0 = b.NewChat();
  const std::string salt = a.NextTurn(a0).context().prefix_cache_salt();
  EXPECT_EQ(a.NextTurn(a1).context().prefix_cache_salt(), salt);
  EXPECT_NE(b.NextTurn(b0).context().prefix_cache_salt(), salt);
}

TEST(WorkloadTest, PromptsAreCutFromTheText) {
  LoadOptions options = SmallOptions();
  options.prompt_tokens = LengthDistribution(4);
  Workload workload = Make(options, {10, 11, 12});
  Chat chat = workload.NewChat();
  const std::vector<int32_t> ids = Ids(workload.NextTurn(chat));
  ASSERT_EQ(ids.size(), 4);
  for (size_t i = 1; i < ids.size(); ++i) EXPECT_EQ(ids[i], ids[i - 1] == 12 ? 10 : ids[i - 1] + 1);
}

TEST(WorkloadTest, ChatThatCannotFitIsRefused) {
  LoadOptions options = SmallOptions();
  options.shared_prefix_tokens = 3;
  options.turns = 5;
  PHYLLO_EXPECT_OK(Workload::Create(options, kVocabSize, 53, {}));
  EXPECT_THAT(Workload::Create(options, kVocabSize, 52, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("53 tokens"), HasSubstr("max_sequence_length is 52"))));
}

TEST(LoadOptionsTest, WithoutALimitTheRunTakesHalfAMinute) {
  LoadOptions options;
  PHYLLO_ASSERT_OK(FinishLoadOptions(options));
  EXPECT_EQ(options.duration, absl::Seconds(30));
  EXPECT_EQ(options.concurrency, 1);
  LoadOptions counted;
  counted.num_requests = 5;
  PHYLLO_ASSERT_OK(FinishLoadOptions(counted));
  EXPECT_EQ(counted.duration, absl::InfiniteDuration());
}

TEST(LoadOptionsTest, OpenLoopIsNotHeldBackByDefault) {
  LoadOptions options;
  options.request_rate = 2;
  PHYLLO_ASSERT_OK(FinishLoadOptions(options));
  EXPECT_EQ(options.concurrency, LoadOptions::kMaxConcurrency);
}

TEST(LoadOptionsTest, ErrorsNameOptionValueAndRange) {
  const auto error = [](auto change) {
    LoadOptions options;
    change(options);
    const absl::Status status = FinishLoadOptions(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(error([](LoadOptions& options) { options.concurrency = 2000; }),
            "--concurrency is 2000, must be in [1, 1024]");
  EXPECT_EQ(error([](LoadOptions& options) { options.turns = 0; }),
            "--turns is 0, must be in [1, 1000]");
  EXPECT_EQ(error([](LoadOptions& options) { options.request_rate = -1; }),
            "--request-rate is -1, must be in [0, 100000] a second");
  EXPECT_THAT(error([](LoadOptions& options) {
                options.request.mutable_stopping()->set_max_new_tokens(3);
              }),
              HasSubstr("--output-tokens"));
  EXPECT_THAT(error([](LoadOptions& options) { options.request.set_choice_count(2); }),
              HasSubstr("one answer"));
}

}  // namespace
}  // namespace phyllo
