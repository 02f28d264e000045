// The service over a socket with the demo model's table. What the table itself computes is tested
// beside it.
#include "services/embedding/embedding_service.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "services/common/channel.h"
#include "services/common/server.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using embedding::v1::EmbedRequest;
using embedding::v1::EmbedResponse;
using embedding::v1::EmbedStreamRequest;
using embedding::v1::EmbedStreamResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMaxRows = 8;
constexpr int64_t kMaxCalls = 2;

class EmbeddingServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file("model/demo/config.json");
    const std::string json((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(json));
    PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeDecoder(config));
    PHYLLO_ASSERT_OK_AND_ASSIGN(checkpoint_, Checkpoint::Open("model/demo"));
    PHYLLO_ASSERT_OK_AND_ASSIGN(EmbeddingTable table,
                                EmbeddingTable::Create(description, *checkpoint_));
    table_ = std::make_unique<EmbeddingTable>(std::move(table));
    service_ = std::make_unique<EmbeddingServiceImpl>(
        *table_, identity_, EmbeddingServiceOptions{.max_rows = kMaxRows, .max_calls = kMaxCalls});
    ServerOptions options;
    options.listen_addresses = {"127.0.0.1:0"};
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        server_,
        Server::Start(options,
                      {{service_.get(), embedding::v1::EmbeddingService::service_full_name()}},
                      metrics_));
    stub_ = embedding::v1::EmbeddingService::NewStub(CreateChannel(server_->addresses()[0]));
    SetDeadline(context_);
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }

  static EmbedStreamRequest StreamRequest(int32_t token_id) {
    EmbedStreamRequest request;
    request.add_token_ids(token_id);
    request.add_positions(100);
    return request;
  }

  absl::Status Embed(int32_t token_id) {
    grpc::ClientContext context;
    SetDeadline(context);
    EmbedRequest request;
    request.add_token_ids(token_id);
    EmbedResponse response;
    return FromGrpcStatus(stub_->Embed(&context, request, &response));
  }

  // A drain that no call holds up: with this time limit the test would otherwise time out.
  void DrainUntilNoCallRuns() { server_->Drain(absl::ZeroDuration(), absl::Minutes(10)); }

  // The bytes of `token_id`'s row as the table gives it.
  std::string Row(int32_t token_id) const {
    std::string bytes(static_cast<size_t>(table_->hidden_size() * ByteSize(table_->native_dtype())),
                      '\0');
    PHYLLO_EXPECT_OK(table_->EmbedNative({token_id}, 0,
                                         {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}));
    return bytes;
  }

  MetricRegistry metrics_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<EmbeddingTable> table_;
  const ServerIdentity identity_ = ServerIdentity(common::v1::ServerInfo());
  std::unique_ptr<EmbeddingServiceImpl> service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<embedding::v1::EmbeddingService::Stub> stub_;
  grpc::ClientContext context_;
};

TEST_F(EmbeddingServiceTest, AnswersRowsInOrder) {
  EmbedRequest request;
  request.add_token_ids(5);
  request.add_token_ids(3);
  EmbedResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(stub_->Embed(&context_, request, &response)));
  EXPECT_THAT(response.hidden_states().shape(), ElementsAre(2, table_->hidden_size()));
  EXPECT_TRUE(response.hidden_states().data() == Row(5) + Row(3));
}

TEST_F(EmbeddingServiceTest, NamesFieldWhenThereAreNoIds) {
  EmbedResponse response;
  const absl::Status status = FromGrpcStatus(stub_->Embed(&context_, EmbedRequest(), &response));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[1, 8]")));
  EXPECT_EQ(GetInvalidField(status), "token_ids");
}

TEST_F(EmbeddingServiceTest, ReturnsInvalidArgumentWhenThereAreTooManyIds) {
  EmbedRequest request;
  request.mutable_token_ids()->Resize(kMaxRows + 1, 1);
  EmbedResponse response;
  EXPECT_THAT(FromGrpcStatus(stub_->Embed(&context_, request, &response)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has 9 ids")));
}

TEST_F(EmbeddingServiceTest, ReturnsInvalidArgumentWhenIdIsOutsideVocabulary) {
  EmbedRequest request;
  request.add_token_ids(static_cast<int32_t>(table_->vocab_size()));
  EmbedResponse response;
  EXPECT_THAT(FromGrpcStatus(stub_->Embed(&context_, request, &response)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(std::to_string(table_->vocab_size()))));
}

TEST_F(EmbeddingServiceTest, StreamsOneResponseForEachRequest) {
  const auto stream = stub_->EmbedStream(&context_);
  for (const int32_t token_id : {7, 9}) {
    ASSERT_TRUE(stream->Write(StreamRequest(token_id)));
    EmbedStreamResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_TRUE(response.hidden_states().data() == Row(token_id));
  }
  stream->WritesDone();
  PHYLLO_EXPECT_OK(FromGrpcStatus(stream->Finish()));
}

TEST_F(EmbeddingServiceTest, ReturnsInvalidArgumentWhenPositionsAreMissing) {
  const auto stream = stub_->EmbedStream(&context_);
  EmbedStreamRequest request;
  request.add_token_ids(7);
  ASSERT_TRUE(stream->Write(request));
  EmbedStreamResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(GetInvalidField(FromGrpcStatus(stream->Finish())), "positions");
}

TEST_F(EmbeddingServiceTest, EndsStreamWithStatusOfBadRequestInTheMiddle) {
  const auto stream = stub_->EmbedStream(&context_);
  ASSERT_TRUE(stream->Write(StreamRequest(7)));
  ASSERT_TRUE(stream->Write(StreamRequest(static_cast<int32_t>(table_->vocab_size()))));
  stream->Write(StreamRequest(9));  // fails if the stream has ended already
  EmbedStreamResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(response.hidden_states().data() == Row(7));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(FromGrpcStatus(stream->Finish()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(std::to_string(table_->vocab_size()))));
}

TEST_F(EmbeddingServiceTest, EndsStreamOfClientThatLeavesBetweenRequests) {
  const auto stream = stub_->EmbedStream(&context_);
  ASSERT_TRUE(stream->Write(StreamRequest(7)));
  EmbedStreamResponse response;
  ASSERT_TRUE(stream->Read(&response));
  context_.TryCancel();
  EXPECT_THAT(FromGrpcStatus(stream->Finish()), StatusIs(absl::StatusCode::kCancelled));
  DrainUntilNoCallRuns();
}

TEST_F(EmbeddingServiceTest, EndsStreamOfClientThatLeavesWithoutReading) {
  const auto stream = stub_->EmbedStream(&context_);
  // More answers than fit into the windows of a connection: the server waits in a write.
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(stream->Write(StreamRequest(7)));
  context_.TryCancel();
  EXPECT_THAT(FromGrpcStatus(stream->Finish()), StatusIs(absl::StatusCode::kCancelled));
  DrainUntilNoCallRuns();
}

TEST_F(EmbeddingServiceTest, ReturnsResourceExhaustedWhenAsManyCallsAreUnderWay) {
  grpc::ClientContext contexts[kMaxCalls];
  std::vector<decltype(stub_->EmbedStream(&context_))> streams;
  for (grpc::ClientContext& context : contexts) {
    SetDeadline(context);
    streams.push_back(stub_->EmbedStream(&context));
    ASSERT_TRUE(streams.back()->Write(StreamRequest(7)));
    EmbedStreamResponse response;
    ASSERT_TRUE(streams.back()->Read(&response));
  }
  EXPECT_THAT(Embed(7), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at once: 2")));
  const auto refused = stub_->EmbedStream(&context_);
  EmbedStreamResponse response;
  EXPECT_FALSE(refused->Read(&response));
  EXPECT_THAT(FromGrpcStatus(refused->Finish()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at once: 2")));
  for (const auto& stream : streams) {
    stream->WritesDone();
    PHYLLO_EXPECT_OK(FromGrpcStatus(stream->Finish()));
  }
}

TEST_F(EmbeddingServiceTest, TakesCallsInPlaceOfThoseThatHaveEnded) {
  for (int i = 0; i < 4 * kMaxCalls; ++i) {
    // A place is free once the call has ended in the server, a moment after it has ended here.
    absl::Status status;
    do {
      status = Embed(7);
    } while (status.code() == absl::StatusCode::kResourceExhausted);
    PHYLLO_ASSERT_OK(status);
  }
}

TEST_F(EmbeddingServiceTest, DescribesItself) {
  embedding::v1::GetInfoResponse response;
  PHYLLO_ASSERT_OK(
      FromGrpcStatus(stub_->GetInfo(&context_, embedding::v1::GetInfoRequest(), &response)));
  EXPECT_EQ(response.vocab_size(), table_->vocab_size());
  EXPECT_EQ(response.hidden_size(), table_->hidden_size());
  EXPECT_EQ(response.max_rows(), kMaxRows);
}

}  // namespace
}  // namespace phyllo
