// Generations through a gateway with fakes behind it: what a client sees.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "services/gateway/testing/gateway_harness.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateRequest;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

GenerateRequest TextRequest(const std::string& text = "Say hello") {
  GenerateRequest request;
  request.set_text(text);
  return request;
}

class GenerationTest : public ::testing::Test {
 protected:
  void Start() {
    gateway_.Start();
    ASSERT_TRUE(gateway_.WaitForPath(true));
  }

  GatewayHarness gateway_;
};

TEST_F(GenerationTest, StreamsAnswerAndEndsWithOneFinalMessage) {
  Start();
  const Received received = gateway_.Generate(TextRequest());
  PHYLLO_ASSERT_OK(received.status);
  EXPECT_EQ(received.text, "Hello");
  EXPECT_EQ(received.messages.size(),
            6);  // A delta for each token with text, and the final message.
  EXPECT_EQ(received.finished.finish_reason(), common::v1::FINISH_REASON_EOS);
  EXPECT_EQ(received.finished.stop_token_id(), kFakeEos);
  EXPECT_EQ(received.finished.usage().prompt_token_count(), 9);
  EXPECT_EQ(received.finished.usage().generated_token_count(), 6);
}

TEST(GenerationThreadsTest, ManyGenerationsHoldNoHandlerThread) {
  constexpr int kGenerations = 32;
  GatewayHarness gateway({.max_handler_threads = 4});
  auto* const all_run = new absl::Barrier(kGenerations);
  gateway.transformer.script = [all_run](grpc::ServerContext&,
                                         const transformer::v1::GenerateStart&,
                                         FakeTransformer::Stream& stream) {
    if (all_run->Block()) delete all_run;
    FakeTransformer::SendText("Hello", 1, stream);
    FakeTransformer::SendFinished(common::v1::FINISH_REASON_LENGTH, stream);
    return grpc::Status::OK;
  };
  gateway.Start();
  ASSERT_TRUE(gateway.WaitForPath(true));
  std::vector<std::string> texts(kGenerations);
  std::vector<std::thread> clients;
  for (std::string& text : texts)
    clients.emplace_back([&] { text = gateway.Generate(TextRequest()).text; });
  for (std::thread& client : clients) client.join();
  EXPECT_THAT(texts, Each("Hello"));
}

TEST_F(GenerationTest, EchoesResolvedParametersAndLatency) {
  Start();
  GenerateRequest request = TextRequest();
  request.mutable_sampling()->set_temperature(0.5f);
  request.mutable_stopping()->set_max_new_tokens(40);
  request.mutable_context()->set_request_id("my-request");
  const Received received = gateway_.Generate(request);
  PHYLLO_ASSERT_OK(received.status);
  const gateway::v1::ResolvedParameters& resolved = received.finished.resolved();
  EXPECT_EQ(resolved.sampling().temperature(), 0.5f);
  EXPECT_EQ(resolved.sampling().top_p(), 1);
  EXPECT_TRUE(resolved.sampling().has_seed());
  EXPECT_EQ(resolved.sampling().seed(), gateway_.transformer.last_start().sampling().seed());
  EXPECT_EQ(resolved.stopping().max_new_tokens(), 40);
  EXPECT_EQ(resolved.request_id(), "my-request");
  EXPECT_EQ(resolved.model(), "toy");
  EXPECT_EQ(resolved.path_fingerprint().size(), 32);
  const common::v1::LatencyBreakdown& latency = received.finished.latency();
  EXPECT_TRUE(latency.has_tokenize() && latency.has_embed() && latency.has_queue() &&
              latency.has_time_to_first_token());
  EXPECT_GT(latency.total().nanos() + latency.total().seconds(), 0);
}

TEST_F(GenerationTest, FetchesRowsInChunksThatEmbeddingAccepts) {
  Start();
  const std::string prompt(static_cast<size_t>(2 * kFakeMaxRows + 1), 'x');
  PHYLLO_ASSERT_OK(gateway_.Generate(TextRequest(prompt)).status);
  EXPECT_EQ(gateway_.embedding.embed_count, 3);
}

TEST_F(GenerationTest, AnswersRepeatedNeeds) {
  gateway_.transformer.script = [](grpc::ServerContext&,
                                   const transformer::v1::GenerateStart& start,
                                   FakeTransformer::Stream& stream) {
    const bool right = FakeTransformer::PullRows(start, 2, 3, stream) &&
                       FakeTransformer::PullRows(start, 0, 9, stream);
    if (!right) return grpc::Status(grpc::StatusCode::INTERNAL, "wrong rows");
    FakeTransformer::SendFinished(common::v1::FINISH_REASON_LENGTH, stream);
    return grpc::Status::OK;
  };
  Start();
  PHYLLO_EXPECT_OK(gateway_.Generate(TextRequest()).status);
}

TEST_F(GenerationTest, ReturnsInternalWhenTransformerAsksBeyondPrompt) {
  gateway_.transformer.script = [](grpc::ServerContext&,
                                   const transformer::v1::GenerateStart& start,
                                   FakeTransformer::Stream& stream) {
    FakeTransformer::PullRows(start, 5, 5, stream);
    return grpc::Status::OK;
  };
  Start();
  EXPECT_THAT(gateway_.Generate(TextRequest()).status,
              StatusIs(absl::StatusCode::kInternal, HasSubstr("prompt of 9")));
}

TEST_F(GenerationTest, RendersChatByTokenizer) {
  Start();
  GenerateRequest request;
  common::v1::ChatMessage& message = *request.mutable_chat()->add_messages();
  message.set_role("user");
  message.set_content("Hi");
  request.mutable_output()->set_echo_prompt(true);
  EXPECT_EQ(gateway_.Generate(request).text, "user:Hi|Hello");
}

TEST_F(GenerationTest, CompletesCharacterThatPromptBegan) {
  gateway_.transformer.answer = "\xA9!";
  Start();
  GenerateRequest request;
  for (const int32_t id : std::vector<int32_t>{'a', 0xC3}) request.mutable_token_ids()->add_ids(id);
  EXPECT_EQ(gateway_.Generate(request).text, "\xC3\xA9!");
}

TEST_F(GenerationTest, CollectsSameAnswerForUnaryCall) {
  Start();
  GenerateRequest request = TextRequest();
  request.mutable_output()->set_token_ids(true);
  gateway::v1::GenerateUnaryRequest unary;
  *unary.mutable_request() = request;
  gateway::v1::GenerateUnaryResponse response;
  grpc::ClientContext context;
  PHYLLO_ASSERT_OK(FromGrpcStatus(gateway_.stub().GenerateUnary(&context, unary, &response)));
  ASSERT_EQ(response.choices_size(), 1);
  EXPECT_EQ(response.choices(0).answer().text(), "Hello");
  EXPECT_THAT(response.choices(0).answer().token_ids(),
              ElementsAre('H', 'e', 'l', 'l', 'o', kFakeEos));
  EXPECT_EQ(response.choices(0).finished().usage().generated_token_count(), 6);
}

TEST_F(GenerationTest, JoinsTokensToStreamInterval) {
  Start();
  GenerateRequest request = TextRequest();
  request.mutable_output()->set_stream_interval(4);
  const Received received = gateway_.Generate(request);
  EXPECT_EQ(received.text, "Hello");
  EXPECT_EQ(received.messages[0].delta().text(), "Hell");
  EXPECT_EQ(received.messages.size(), 3);
}

TEST_F(GenerationTest, FillsTokenBytesOfLogprobsIn) {
  gateway_.transformer.answer = "Hi";
  Start();
  GenerateRequest request = TextRequest();
  request.mutable_output()->mutable_logprobs()->set_top_count(1);
  const Received received = gateway_.Generate(request);
  PHYLLO_ASSERT_OK(received.status);
  ASSERT_EQ(received.messages[1].delta().logprobs_size(), 1);
  const common::v1::PositionLogprobs& position = received.messages[1].delta().logprobs(0);
  EXPECT_EQ(position.chosen().token(), "i");
  EXPECT_EQ(position.top(0).token(), "z");
}

// The answer and its counts are the same however the transformer groups tokens into messages.
class StopSequenceTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    gateway_.transformer.answer = "One. Two. Three.";
    gateway_.transformer.tokens_per_message = GetParam();
    gateway_.Start();
    ASSERT_TRUE(gateway_.WaitForPath(true));
  }

  GatewayHarness gateway_;
};

TEST_P(StopSequenceTest, TrimsSequenceThatSpansTokens) {
  GenerateRequest request = TextRequest();
  request.add_stop_sequences("xyz");
  request.add_stop_sequences(". Th");
  request.mutable_output()->set_token_ids(true);
  const Received received = gateway_.Generate(request);
  PHYLLO_ASSERT_OK(received.status);
  EXPECT_EQ(received.text, "One. Two");
  EXPECT_EQ(received.finished.finish_reason(), common::v1::FINISH_REASON_STOP_SEQUENCE);
  EXPECT_EQ(received.finished.stop_sequence(), ". Th");
  EXPECT_FALSE(received.finished.has_stop_token_id());
  EXPECT_EQ(received.finished.usage().generated_token_count(), 12);
  int id_count = 0;
  for (const gateway::v1::GenerateResponse& message : received.messages)
    id_count += message.delta().token_ids_size();
  EXPECT_EQ(id_count, 12);
}

TEST_P(StopSequenceTest, KeepsSequenceWhenAskedTo) {
  GenerateRequest request = TextRequest();
  request.add_stop_sequences(". Th");
  request.set_include_stop_sequence(true);
  EXPECT_EQ(gateway_.Generate(request).text, "One. Two. Th");
}

TEST_P(StopSequenceTest, ReleasesHeldTextAtTheEnd) {
  GenerateRequest request = TextRequest();
  request.add_stop_sequences("Three. Four");
  const Received received = gateway_.Generate(request);
  EXPECT_EQ(received.text, "One. Two. Three.");
  EXPECT_EQ(received.finished.finish_reason(), common::v1::FINISH_REASON_EOS);
}

INSTANTIATE_TEST_SUITE_P(TokensPerMessage, StopSequenceTest, ::testing::Values(1, 3, 16));

TEST_F(GenerationTest, CancelsTransformerWhenStopSequenceMatched) {
  absl::Notification cancelled;
  gateway_.transformer.script = [&cancelled](grpc::ServerContext& context,
                                             const transformer::v1::GenerateStart&,
                                             FakeTransformer::Stream& stream) {
    FakeTransformer::SendText("ab", 1, stream);
    FakeTransformer::WaitForCancel(stream);
    if (context.IsCancelled()) cancelled.Notify();
    return grpc::Status::OK;
  };
  Start();
  GenerateRequest request = TextRequest();
  request.add_stop_sequences("b");
  EXPECT_EQ(gateway_.Generate(request).text, "a");
  EXPECT_TRUE(cancelled.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST_F(GenerationTest, UsageHasTheCountsOfTheLastTokensWhenAStopSequenceEnds) {
  gateway_.transformer.script = [](grpc::ServerContext&,
                                   const transformer::v1::GenerateStart& start,
                                   FakeTransformer::Stream& stream) {
    FakeTransformer::PullRows(start, 0, start.prompt_token_ids_size(), stream);
    transformer::v1::GenerateResponse response;
    for (const char c : {'a', 'b'}) {
      response.mutable_tokens()->Clear();
      response.mutable_tokens()->add_token_ids(c);
      response.mutable_tokens()->set_drafted_token_count(c == 'a' ? 3 : 8);
      response.mutable_tokens()->set_accepted_token_count(c == 'a' ? 2 : 5);
      response.mutable_tokens()->set_preemption_count(1);
      stream.Write(response);
    }
    FakeTransformer::WaitForCancel(stream);
    return grpc::Status::OK;
  };
  Start();
  GenerateRequest request = TextRequest();
  request.add_stop_sequences("b");
  const common::v1::Usage usage = gateway_.Generate(request).finished.usage();
  EXPECT_EQ(usage.drafted_token_count(), 8);
  EXPECT_EQ(usage.accepted_token_count(), 5);
  EXPECT_EQ(usage.preemption_count(), 1);
}

TEST_F(GenerationTest, CountsAndLogsWithoutUserText) {
  Start();
  GenerateRequest request = TextRequest("SECRETPROMPT");
  request.mutable_context()->set_request_id("r-17");
  PHYLLO_ASSERT_OK(gateway_.Generate(request).status);
  EXPECT_THAT(
      gateway_.LogText(),
      AllOf(HasSubstr(
                "request_id=r-17 code=OK finish_reason=eos prompt_tokens=12 generated_tokens=6"),
            Not(HasSubstr("SECRET")), Not(HasSubstr("Hello"))));
  EXPECT_THAT(gateway_.MetricsText(),
              AllOf(HasSubstr("phyllo_request_success_total{finished_reason=\"eos\"} 1\n"),
                    HasSubstr("phyllo_prompt_tokens_total 12\n"),
                    HasSubstr("phyllo_generation_tokens_total 6\n"),
                    HasSubstr("phyllo_time_to_first_token_seconds_count 1\n"),
                    HasSubstr("phyllo_inter_token_latency_seconds_count 5\n")));
}

}  // namespace
}  // namespace phyllo
