// Hostile clients against the real transformer and gateway: neither exceeds the memory it was
// given.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "phyllo/common/v1/tensor.pb.h"
#include "phyllo/transformer/v1/transformer.grpc.pb.h"
#include "services/common/channel.h"
#include "services/common/status_bridge.h"
#include "tests/integration/peak_memory.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

using transformer::v1::GenerateRequest;
using transformer::v1::GenerateResponse;
using transformer::v1::TransformerService;

constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kTransformerBytes = 256 * kMegabyte;
constexpr int kLongestPrompt = 1900;
constexpr int64_t kHiddenSize = 192;  // of the demo model

ServiceFlags SmallFlags() {
  ServiceFlags flags;
  flags[static_cast<int>(ServiceKind::kTransformer)] = {
      absl::StrCat("--memory_bytes=", kTransformerBytes),
      "--kv_cache_bytes=8388608",
      "--max_request_bytes=33554432",
      "--max_transport_bytes=33554432",
      "--max_sequences=8",
      "--max_queue_sequences=10000",
      "--max_queue_tokens=100000000"};
  return flags;
}

// A stream of the transformer with what it needs to stay alive.
struct OpenStream {
  std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
  std::unique_ptr<grpc::ClientReaderWriter<GenerateRequest, GenerateResponse>> stream;
};

// Gives the rows of the first need, as zeros; nothing if the stream ended before.
void AnswerNeed(grpc::ClientReaderWriter<GenerateRequest, GenerateResponse>& stream) {
  GenerateResponse response;
  if (!stream.Read(&response) || !response.has_need()) return;
  const int64_t count = response.need().count();
  GenerateRequest rows;
  rows.mutable_hidden_states()->set_first_position(response.need().first_position());
  common::v1::Tensor& tensor = *rows.mutable_hidden_states()->mutable_rows();
  tensor.set_data_type(common::v1::DATA_TYPE_F32);
  tensor.add_shape(count);
  tensor.add_shape(kHiddenSize);
  tensor.set_data(std::string(static_cast<size_t>(count * kHiddenSize * 4), '\0'));
  stream.Write(rows);
}

class MemoryLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<RunningServices>> services =
        RunningServices::Start(SmallFlags());
    PHYLLO_ASSERT_OK(services);
    services_ = *std::move(services);
    PHYLLO_ASSERT_OK_AND_ASSIGN(golden_, ReadGoldenCases());
    stub_ =
        TransformerService::NewStub(CreateChannel(services_->address(ServiceKind::kTransformer)));
  }

  void TearDown() override {
    for (OpenStream& open : streams_) open.context->TryCancel();
    // What was refused was refused in time: the service still answers, and exactly, as soon as it
    // has cleared up behind those who left.
    Answer answer;
    do {
      answer = services_->Generate(GreedyRequest(golden_[0].input_ids, 20));
    } while (absl::IsResourceExhausted(answer.status));
    PHYLLO_EXPECT_OK(answer.status);
    EXPECT_EQ(answer.token_ids, std::vector<int32_t>(golden_[0].output_ids.begin(),
                                                     golden_[0].output_ids.begin() + 20));
    const int64_t peak = PeakMemory(services_->pid(ServiceKind::kTransformer));
    EXPECT_GT(peak, 0);
    EXPECT_LE(peak, kTransformerBytes);
    RecordProperty("transformer_peak_megabytes", static_cast<int>(peak / kMegabyte));
  }

  // Opens a stream and sends `request` on it; it stays open and nobody reads.
  OpenStream& Open(const GenerateRequest& request) {
    OpenStream& open = streams_.emplace_back();
    open.stream = stub_->Generate(open.context.get());
    open.stream->Write(request);
    return open;
  }

  static GenerateRequest Start(int prompt_count, int max_new_tokens) {
    GenerateRequest request;
    for (int i = 0; i < prompt_count; ++i)
      request.mutable_start()->add_prompt_token_ids(i % 1000 + 5);
    request.mutable_start()->mutable_sampling()->set_temperature(0.0f);
    request.mutable_start()->mutable_stopping()->set_max_new_tokens(max_new_tokens);
    request.mutable_start()->mutable_stopping()->set_ignore_eos(true);
    return request;
  }

  std::unique_ptr<RunningServices> services_;
  std::vector<GoldenCase> golden_;
  std::unique_ptr<TransformerService::Stub> stub_;
  std::vector<OpenStream> streams_;
};

TEST_F(MemoryLimitTest, ThousandsOfLongestPromptsInTheQueue) {
  constexpr int kStreams = 2000;
  streams_.reserve(kStreams);
  const GenerateRequest plain = Start(kLongestPrompt, 100);
  GenerateRequest with_list = plain;
  for (int i = 0; i < 50000; ++i)
    with_list.mutable_start()->mutable_sampling()->add_allowed_token_ids(i % 1000);
  for (int i = 0; i < kStreams; ++i) Open(i % 8 == 0 ? with_list : plain);
  // The last ones find no room.
  GenerateResponse response;
  OpenStream& last = streams_.back();
  while (last.stream->Read(&response)) {
  }
  EXPECT_THAT(FromGrpcStatus(last.stream->Finish()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       ::testing::HasSubstr("max_request_bytes is 33554432")));
}

TEST_F(MemoryLimitTest, ReadersOfManyLogprobsThatStopReading) {
  constexpr int kStreams = 20;
  streams_.reserve(kStreams);
  GenerateRequest request = Start(/*prompt_count=*/2, /*max_new_tokens=*/1000);
  request.mutable_start()->mutable_logprobs()->set_top_count(128);
  for (int i = 0; i < kStreams; ++i) Open(request);
  // Each answers as soon as it is asked, in whatever order the server takes them.
  std::vector<std::thread> clients;
  for (OpenStream& open : streams_) clients.emplace_back([&open] { AnswerNeed(*open.stream); });
  for (std::thread& client : clients) client.join();
  // Until all of them have ended, whatever way.
  transformer::v1::GetLoadResponse load;
  do {
    grpc::ClientContext context;
    ASSERT_TRUE(stub_->GetLoad(&context, {}, &load).ok());
  } while (load.running_sequence_count() + load.waiting_sequence_count() > 0);
}

TEST_F(MemoryLimitTest, LargeMessagesOfManyClientsAtOnce) {
  GenerateRequest request;
  request.mutable_hidden_states()->mutable_rows()->set_data(std::string(2 * kMegabyte, 'x'));
  GenerateRequest too_large;
  too_large.mutable_hidden_states()->mutable_rows()->set_data(std::string(30 * kMegabyte, 'x'));
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      const auto stub =
          TransformerService::NewStub(CreateChannel(services_->address(ServiceKind::kTransformer)));
      for (int i = 0; i < 20; ++i) {
        OpenStream open;
        open.stream = stub->Generate(open.context.get());
        open.stream->Write((i + client) % 4 == 0 ? too_large : request);
        open.stream->WritesDone();
        EXPECT_FALSE(open.stream->Finish().ok());
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(MemoryLimitTest, PromptsOfHiddenStatesThroughTheGateway) {
  gateway::v1::GenerateRequest request;
  request.mutable_hidden_states()->set_data_type(common::v1::DATA_TYPE_F32);
  request.mutable_hidden_states()->add_shape(kLongestPrompt);
  request.mutable_hidden_states()->add_shape(kHiddenSize);
  request.mutable_hidden_states()->set_data(
      std::string(static_cast<size_t>(kLongestPrompt * kHiddenSize * 4), '\0'));
  request.mutable_stopping()->set_max_new_tokens(1);
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&] {
      for (int i = 0; i < 4; ++i) {
        const Answer answer = services_->Generate(request);
        EXPECT_TRUE(answer.status.ok() || absl::IsResourceExhausted(answer.status))
            << answer.status;
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST(MemoryLimitStartTest, RefusesLimitsThatCouldLeadBeyondTheMemoryNamingThem) {
  ServiceFlags flags = SmallFlags();
  flags[static_cast<int>(ServiceKind::kTransformer)].push_back("--max_request_bytes=250000000");
  const absl::Status status = RunningServices::Start(flags).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               ::testing::AllOf(::testing::HasSubstr("the limit is 268435456"),
                                                ::testing::HasSubstr("--max_request_bytes"))));
}

}  // namespace
}  // namespace phyllo
