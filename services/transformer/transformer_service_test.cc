// The service in one process, over a real channel, with an engine over a fake model.
#include "services/transformer/transformer_service.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "model/base/memory_budget.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "services/transformer/engine/testing/fake_step_model.h"
#include "services/transformer/memory/memory_needs.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using transformer::v1::EncodeRequest;
using transformer::v1::EncodeResponse;
using transformer::v1::GenerateRequest;
using transformer::v1::GenerateResponse;
using transformer::v1::ScoreRequest;
using transformer::v1::ScoreResponse;

const std::vector<int32_t> kPrompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

// Rows [first, first + count) of `ids`, as FakeStepModel embeds them.
void SetRows(const std::vector<int32_t>& ids, int64_t first, int64_t count,
             transformer::v1::HiddenStates& states) {
  states.set_first_position(first);
  states.mutable_rows()->set_data_type(common::v1::DATA_TYPE_F32);
  states.mutable_rows()->add_shape(count);
  states.mutable_rows()->add_shape(2);
  for (int64_t position = first; position < first + count; ++position) {
    const float row[2] = {static_cast<float>(ids.at(position)), static_cast<float>(position)};
    states.mutable_rows()->mutable_data()->append(reinterpret_cast<const char*>(row), sizeof(row));
  }
}

GenerateRequest Start(const std::vector<int32_t>& prompt, int32_t max_new_tokens) {
  GenerateRequest request;
  for (const int32_t id : prompt) request.mutable_start()->add_prompt_token_ids(id);
  request.mutable_start()->mutable_sampling()->set_temperature(0.0f);
  request.mutable_start()->mutable_stopping()->set_max_new_tokens(max_new_tokens);
  return request;
}

class TransformerServiceTest : public ::testing::Test {
 protected:
  TransformerServiceTest() {
    EngineOptions options = {.max_prefill_rows = 4,
                             .max_sequences = 8,
                             .max_queue_sequences = 100,
                             .request_memory = &request_memory_,
                             .now = absl::Now};
    engine_ = *Engine::Create(model_, options);
    const StreamBackend backend = {.engine = *engine_,
                                   .dispatcher = dispatcher_,
                                   .hidden_size = 2,
                                   .request_memory = &request_memory_};
    transformer::v1::GetInfoResponse info;
    info.set_max_sequence_length(400);
    service_ = std::make_unique<TransformerServiceImpl>(backend, identity_, info);
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = transformer::v1::TransformerService::NewStub(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
    steps_ = std::thread([this] { engine_->Run(); });
  }

  ~TransformerServiceTest() override {
    engine_->Stop();
    steps_.join();
    server_->Shutdown();
  }

  struct Outcome {
    std::vector<int32_t> token_ids;
    std::vector<common::v1::PositionLogprobs> logprobs;
    std::vector<common::v1::PositionLogprobs> prompt_logprobs;
    std::vector<transformer::v1::Prefilled> prefilled;
    transformer::v1::Tokens last_tokens;
    transformer::v1::GenerateFinished finished;
    absl::Status status;
  };

  // Plays a whole generation.
  Outcome Generate(const GenerateRequest& start, const std::vector<int32_t>& prompt) {
    grpc::ClientContext context;
    const auto stream = stub_->Generate(&context);
    stream->Write(start);
    Outcome outcome;
    GenerateResponse response;
    while (stream->Read(&response)) {
      if (response.has_need()) {
        GenerateRequest answer;
        SetRows(prompt, response.need().first_position(), response.need().count(),
                *answer.mutable_hidden_states());
        stream->Write(answer);
      }
      EXPECT_TRUE(!response.has_tokens() || response.tokens().first_index() ==
                                                static_cast<int64_t>(outcome.token_ids.size()));
      if (response.has_tokens()) outcome.last_tokens = response.tokens();
      for (const int32_t id : response.tokens().token_ids()) outcome.token_ids.push_back(id);
      for (const auto& logprobs : response.tokens().logprobs())
        outcome.logprobs.push_back(logprobs);
      for (const auto& logprobs : response.prompt_logprobs().logprobs())
        outcome.prompt_logprobs.push_back(logprobs);
      if (response.has_prefilled()) outcome.prefilled.push_back(response.prefilled());
      if (response.has_finished()) outcome.finished = response.finished();
    }
    outcome.status = FromGrpcStatus(stream->Finish());
    return outcome;
  }

  // The status of a stream that only ever says `requests`.
  absl::Status StatusAfter(const std::vector<GenerateRequest>& requests, bool half_close = true) {
    grpc::ClientContext context;
    const auto stream = stub_->Generate(&context);
    for (const GenerateRequest& request : requests) stream->Write(request);
    if (half_close) stream->WritesDone();
    GenerateResponse response;
    while (stream->Read(&response)) {
    }
    return FromGrpcStatus(stream->Finish());
  }

  // Plays a whole encoding of `prompt`.
  absl::StatusOr<transformer::v1::EncodeFinished> Encode(const std::vector<int32_t>& prompt,
                                                         common::v1::Pooling pooling) {
    grpc::ClientContext context;
    const auto stream = stub_->Encode(&context);
    EncodeRequest start;
    start.mutable_start()->mutable_token_ids()->Add(prompt.begin(), prompt.end());
    start.mutable_start()->set_pooling(pooling);
    stream->Write(start);
    transformer::v1::EncodeFinished finished;
    EncodeResponse response;
    while (stream->Read(&response)) {
      if (response.has_finished()) finished = response.finished();
      if (!response.has_need()) continue;
      EncodeRequest answer;
      SetRows(prompt, response.need().first_position(), response.need().count(),
              *answer.mutable_hidden_states());
      stream->Write(answer);
    }
    const absl::Status status = FromGrpcStatus(stream->Finish());
    if (!status.ok()) return status;
    return finished;
  }

  MemoryBudget request_memory_{"max_request_bytes", int64_t{16} << 20};
  FakeStepModel model_{100, 4};
  NewsDispatcher dispatcher_{absl::Milliseconds(1), /*cpu_count=*/2.0};
  std::unique_ptr<Engine> engine_;
  const ServerIdentity identity_{common::v1::ServerInfo()};
  std::unique_ptr<TransformerServiceImpl> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<transformer::v1::TransformerService::Stub> stub_;
  std::thread steps_;
};

TEST_F(TransformerServiceTest, SpeculatesWhenAskedToWithTheSameTokens) {
  GenerateRequest start = Start(kPrompt, 150);
  start.mutable_start()->mutable_speculation()->set_enabled(true);
  const Outcome outcome = Generate(start, kPrompt);
  PHYLLO_ASSERT_OK(outcome.status);
  EXPECT_EQ(outcome.token_ids, FakeStepModel::GreedyContinuation(kPrompt, 150));
  EXPECT_GT(outcome.finished.usage().drafted_token_count(), 0);
  EXPECT_LE(outcome.finished.usage().accepted_token_count(),
            outcome.finished.usage().drafted_token_count());
  // The last tokens bring the same counts, for a client that does not wait for the end.
  EXPECT_EQ(outcome.last_tokens.drafted_token_count(),
            outcome.finished.usage().drafted_token_count());
  EXPECT_EQ(outcome.last_tokens.accepted_token_count(),
            outcome.finished.usage().accepted_token_count());
}

TEST_F(TransformerServiceTest, GeneratesWithPulledRows) {
  const Outcome outcome = Generate(Start(kPrompt, 20), kPrompt);
  PHYLLO_EXPECT_OK(outcome.status);
  EXPECT_EQ(outcome.token_ids, FakeStepModel::GreedyContinuation(kPrompt, 20));
  EXPECT_TRUE(outcome.logprobs.empty());
  EXPECT_EQ(outcome.finished.finish_reason(), common::v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(outcome.finished.usage().prompt_token_count(), 10);
  EXPECT_EQ(outcome.finished.usage().generated_token_count(), 20);
}

TEST_F(TransformerServiceTest, ReportsLogprobsWhenAskedFor) {
  GenerateRequest start = Start(kPrompt, 3);
  start.mutable_start()->mutable_logprobs()->set_top_count(2);
  start.mutable_start()->mutable_prompt_logprobs();
  const Outcome outcome = Generate(start, kPrompt);
  ASSERT_EQ(outcome.logprobs.size(), 3u);
  EXPECT_EQ(outcome.logprobs[0].chosen().token_id(), outcome.token_ids[0]);
  EXPECT_EQ(outcome.logprobs[0].chosen().rank(), 1);
  EXPECT_EQ(outcome.logprobs[0].top_size(), 2);
  EXPECT_EQ(outcome.logprobs[0].top(1).rank(), 2);
  ASSERT_EQ(outcome.prompt_logprobs.size(), 9u);
  EXPECT_EQ(outcome.prompt_logprobs[0].chosen().token_id(), 2);
}

TEST_F(TransformerServiceTest, SaysOnceThatThePromptIsComputed) {
  const Outcome outcome = Generate(Start(kPrompt, 5), kPrompt);
  ASSERT_EQ(outcome.prefilled.size(), 1u);
  EXPECT_EQ(outcome.prefilled[0].usage().prompt_token_count(), 10);
  EXPECT_TRUE(outcome.prefilled[0].latency().has_queue());
  EXPECT_TRUE(outcome.prefilled[0].latency().has_prefill());
}

TEST_F(TransformerServiceTest, TakesAPromptWithoutIds) {
  GenerateRequest start = Start(std::vector<int32_t>(kPrompt.size(), -1), 20);
  start.mutable_start()->set_prompt_is_hidden_states(true);
  EXPECT_EQ(Generate(start, kPrompt).token_ids, FakeStepModel::GreedyContinuation(kPrompt, 20));
}

TEST_F(TransformerServiceTest, ServesManyStreamsAtOnce) {
  std::vector<std::thread> clients;
  for (int32_t i = 0; i < 32; ++i) {
    clients.emplace_back([this, i] {
      const std::vector<int32_t> prompt(1 + i % 9, i % 13);
      const Outcome outcome = Generate(Start(prompt, 30), prompt);
      PHYLLO_EXPECT_OK(outcome.status);
      EXPECT_EQ(outcome.token_ids, FakeStepModel::GreedyContinuation(prompt, 30));
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(TransformerServiceTest, ScoresGivenTokens) {
  grpc::ClientContext context;
  const auto stream = stub_->Score(&context);
  ScoreRequest start;
  for (const int32_t id : kPrompt) start.mutable_start()->add_token_ids(id);
  start.mutable_start()->set_first_scored_index(4);
  stream->Write(start);
  ScoreResponse response;
  double total = 0.0;
  int count = 0;
  while (stream->Read(&response)) {
    if (response.has_need()) {
      ScoreRequest answer;
      SetRows(kPrompt, response.need().first_position(), response.need().count(),
              *answer.mutable_hidden_states());
      stream->Write(answer);
    }
    for (const auto& logprobs : response.chunk().logprobs()) {
      EXPECT_EQ(logprobs.chosen().token_id(), kPrompt[4 + count]);
      total += logprobs.chosen().logprob();
      ++count;
    }
    if (response.has_finished()) {
      EXPECT_DOUBLE_EQ(response.finished().total_logprob(), total);
    }
  }
  PHYLLO_EXPECT_OK(FromGrpcStatus(stream->Finish()));
  EXPECT_EQ(count, 6);
}

TEST_F(TransformerServiceTest, ReturnsInvalidArgumentWhenTheFirstMessageIsNotAStart) {
  GenerateRequest rows;
  SetRows(kPrompt, 0, 1, *rows.mutable_hidden_states());
  EXPECT_THAT(StatusAfter({rows}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first message")));
  EXPECT_THAT(StatusAfter({GenerateRequest()}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(StatusAfter({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("before a start")));
}

TEST_F(TransformerServiceTest, ReturnsInvalidArgumentForASecondStart) {
  EXPECT_THAT(StatusAfter({Start(kPrompt, 2), Start(kPrompt, 2)}, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("second start")));
}

TEST_F(TransformerServiceTest, ReturnsInvalidArgumentForRowsNobodyAskedFor) {
  std::vector<GenerateRequest> requests = {Start(kPrompt, 2)};
  GenerateRequest rows;
  SetRows(kPrompt, 0, 10, *rows.mutable_hidden_states());
  requests.push_back(rows);
  EXPECT_THAT(StatusAfter(requests, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("than were asked for")));
}

TEST_F(TransformerServiceTest, ReturnsInvalidArgumentWhenTheClientClosesBeforeAnswering) {
  EXPECT_THAT(StatusAfter({Start(kPrompt, 2)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rows unanswered")));
}

TEST_F(TransformerServiceTest, NamesTheFieldOfABadStart) {
  GenerateRequest start = Start(kPrompt, 2);
  start.mutable_start()->mutable_constraint();
  const absl::Status status = StatusAfter({start});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(GetInvalidField(status), Optional(std::string("constraint")));
}

TEST_F(TransformerServiceTest, CancelFreesThePages) {
  grpc::ClientContext context;
  const auto stream = stub_->Generate(&context);
  stream->Write(Start(kPrompt, 300));
  GenerateResponse response;
  while (stream->Read(&response) && !response.has_tokens()) {
    if (!response.has_need()) continue;
    GenerateRequest answer;
    SetRows(kPrompt, response.need().first_position(), response.need().count(),
            *answer.mutable_hidden_states());
    stream->Write(answer);
  }
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (model_.page_allocator().free_count() < 100 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(model_.page_allocator().free_count(), 100);
}

TEST_F(TransformerServiceTest, DeadlineOfTheCallEndsTheSequence) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  const auto stream = stub_->Generate(&context);
  stream->Write(Start(kPrompt, 300));
  GenerateResponse response;
  while (stream->Read(&response)) {  // never answers a need
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(TransformerServiceTest, DrainRefusesWithUnavailable) {
  engine_->Drain();
  EXPECT_THAT(StatusAfter({Start(kPrompt, 2)}), StatusIs(absl::StatusCode::kUnavailable));
  grpc::ClientContext context;
  transformer::v1::GetLoadResponse load;
  ASSERT_TRUE(stub_->GetLoad(&context, {}, &load).ok());
  EXPECT_TRUE(load.draining());
  EXPECT_EQ(load.total_page_count(), 100);
}

TEST_F(TransformerServiceTest, GetInfoDescribesTheServer) {
  grpc::ClientContext context;
  transformer::v1::GetInfoResponse info;
  ASSERT_TRUE(stub_->GetInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.max_sequence_length(), 400);
  EXPECT_EQ(info.server().proto_version_major(), kProtoVersionMajor);
}

// The elements of an F32 tensor.
std::vector<float> Values(const common::v1::Tensor& tensor) {
  std::vector<float> values(tensor.data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.data().data(), tensor.data().size());
  return values;
}

TEST_F(TransformerServiceTest, EncodesWithPulledRows) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const transformer::v1::EncodeFinished finished,
                              Encode(kPrompt, common::v1::POOLING_UNSPECIFIED));
  EXPECT_THAT(finished.output().shape(), ElementsAre(2));
  EXPECT_EQ(Values(finished.output()), FakeStepModel::FinalHiddenState(kPrompt));
  EXPECT_FALSE(finished.is_labels());
  EXPECT_EQ(finished.usage().prompt_token_count(), 10);
}

TEST_F(TransformerServiceTest, EncodesEveryTokenWithPoolingNone) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const transformer::v1::EncodeFinished finished,
                              Encode(kPrompt, common::v1::POOLING_NONE));
  EXPECT_THAT(finished.output().shape(), ElementsAre(10, 2));
  const std::vector<float> values = Values(finished.output());
  EXPECT_EQ(std::vector<float>(values.end() - 2, values.end()),
            FakeStepModel::FinalHiddenState(kPrompt));
}

TEST_F(TransformerServiceTest, RefusesStreamsBeyondTheirMemoryWithARetryDelay) {
  const std::vector<int32_t> prompt(100, 1);
  // A stream gives its memory back some time after its client knows that it ended, so what is taken
  // shrinks from case to case.
  for (const int64_t room : {kStreamBytes - 1, kStreamBytes}) {
    MemoryReservation taken(request_memory_);
    PHYLLO_ASSERT_OK(taken.Grow(request_memory_.limit_bytes() - room));
    // The stream has no room, then its request has none.
    const Outcome outcome = Generate(Start(prompt, 1), prompt);
    EXPECT_THAT(outcome.status,
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_request_bytes")));
    EXPECT_TRUE(GetRetryDelay(outcome.status).has_value());
  }
  PHYLLO_EXPECT_OK(Generate(Start(prompt, 1), prompt).status);
}

TEST_F(TransformerServiceTest, RefusesAnEncodingWithoutIds) {
  EXPECT_THAT(Encode({}, common::v1::POOLING_LAST),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token_ids")));
}

}  // namespace
}  // namespace phyllo
