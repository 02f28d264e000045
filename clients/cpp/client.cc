#include "clients/cpp/client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/answer_collector.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "model/base/status_macros.h"
#include "phyllo/gateway/v1/gateway.grpc.pb.h"
#include "services/common/channel.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using gateway::v1::GatewayService;
using gateway::v1::GenerateResponse;

void Prepare(const CallOptions& options, grpc::ClientContext& context) {
  if (options.timeout != absl::InfiniteDuration())
    context.set_deadline(absl::ToChronoTime(absl::Now() + options.timeout));
  context.set_wait_for_ready(options.wait_for_ready);
}

// gRPC's own message for a peer that is gone does not always say which.
absl::Status ToStatus(const grpc::Status& status, const std::string& address) {
  absl::Status converted = FromGrpcStatus(status);
  if (!absl::IsUnavailable(converted)) return converted;
  absl::Status named(converted.code(),
                     absl::StrCat("gateway at ", address, ": ", converted.message()));
  converted.ForEachPayload([&named](absl::string_view url, const absl::Cord& payload) {
    named.SetPayload(url, payload);
  });
  return named;
}

class RpcGenerateStream final : public GenerateStream {
 public:
  // The call's context holds the channel, so the stream may outlive the client.
  RpcGenerateStream(GatewayService::Stub& stub, std::string address,
                    const gateway::v1::GenerateRequest& request, const CallOptions& options)
      : address_(std::move(address)) {
    Prepare(options, context_);
    reader_ = stub.Generate(&context_, request);
  }

  // A reader may not be dropped before its status was read.
  ~RpcGenerateStream() override {
    context_.TryCancel();
    while (Next().value_or(std::nullopt).has_value()) {
    }
  }

  absl::StatusOr<std::optional<GenerateResponse>> Next() override {
    if (!end_.has_value()) {
      GenerateResponse message;
      if (reader_->Read(&message)) return std::make_optional(std::move(message));
      end_ = ToStatus(reader_->Finish(), address_);
    }
    if (!end_->ok()) return *end_;
    return std::optional<GenerateResponse>();
  }

  void Cancel() override { context_.TryCancel(); }

 private:
  const std::string address_;
  grpc::ClientContext context_;  // TryCancel is thread-safe.
  std::unique_ptr<grpc::ClientReader<GenerateResponse>> reader_;
  std::optional<absl::Status> end_;
};

}  // namespace

struct Client::Connection {
  // Calls one unary method.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (GatewayService::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                                const Request& request, const CallOptions& options) {
    grpc::ClientContext context;
    Prepare(options, context);
    Response response;
    const absl::Status status = ToStatus(((*stub).*method)(&context, request, &response), address);
    if (!status.ok()) return status;
    return response;
  }

  const std::string address;
  const std::unique_ptr<GatewayService::Stub> stub;
};

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address) {
  if (address.empty())
    return absl::InvalidArgumentError(
        "the gateway's address is empty; expected host:port or unix:PATH");
  return std::unique_ptr<Client>(new Client(std::unique_ptr<Connection>(
      new Connection{address, GatewayService::NewStub(CreateChannel(address))})));
}

Client::Client(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

Client::~Client() = default;

std::unique_ptr<GenerateStream> Client::StreamGenerate(const gateway::v1::GenerateRequest& request,
                                                       const CallOptions& options) {
  return std::make_unique<RpcGenerateStream>(*connection_->stub, connection_->address, request,
                                             options);
}

absl::StatusOr<gateway::v1::GenerateUnaryResponse> Client::Generate(
    const gateway::v1::GenerateRequest& request, const CallOptions& options,
    GenerateObserver observer) {
  const std::unique_ptr<GenerateStream> stream = StreamGenerate(request, options);
  AnswerCollector collector;
  while (true) {
    PHYLLO_ASSIGN_OR_RETURN(std::optional<GenerateResponse> message, stream->Next());
    if (!message.has_value()) break;
    observer(*message);
    collector.Add(*message);
  }
  return collector.TakeAnswer();
}

absl::StatusOr<gateway::v1::ScoreResponse> Client::Score(const gateway::v1::ScoreRequest& request,
                                                         const CallOptions& options) {
  grpc::ClientContext context;
  Prepare(options, context);
  const auto reader = connection_->stub->Score(&context, request);
  gateway::v1::ScoreResponse all, chunk;
  while (reader->Read(&chunk)) all.MergeFrom(chunk);
  PHYLLO_RETURN_IF_ERROR(ToStatus(reader->Finish(), connection_->address));
  return all;
}

absl::StatusOr<gateway::v1::EmbedResponse> Client::Embed(const gateway::v1::EmbedRequest& request,
                                                         const CallOptions& options) {
  return connection_->Call(&GatewayService::Stub::Embed, request, options);
}

absl::StatusOr<gateway::v1::ClassifyResponse> Client::Classify(
    const gateway::v1::ClassifyRequest& request, const CallOptions& options) {
  return connection_->Call(&GatewayService::Stub::Classify, request, options);
}

absl::StatusOr<gateway::v1::TokenizeResponse> Client::Tokenize(
    const gateway::v1::TokenizeRequest& request, const CallOptions& options) {
  return connection_->Call(&GatewayService::Stub::Tokenize, request, options);
}

absl::StatusOr<gateway::v1::DetokenizeResponse> Client::Detokenize(
    const gateway::v1::DetokenizeRequest& request, const CallOptions& options) {
  return connection_->Call(&GatewayService::Stub::Detokenize, request, options);
}

absl::StatusOr<gateway::v1::RenderChatResponse> Client::RenderChat(
    const gateway::v1::RenderChatRequest& request, const CallOptions& options) {
  return connection_->Call(&GatewayService::Stub::RenderChat, request, options);
}

absl::StatusOr<gateway::v1::ListModelsResponse> Client::ListModels(const CallOptions& options) {
  return connection_->Call(&GatewayService::Stub::ListModels, gateway::v1::ListModelsRequest(),
                           options);
}

absl::StatusOr<gateway::v1::GetModelResponse> Client::GetModel(
    const gateway::v1::GetModelRequest& request, const CallOptions& options) {
  return connection_->Call(&GatewayService::Stub::GetModel, request, options);
}

}  // namespace phyllo
