#include "services/gateway/gateway_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "services/common/status_bridge.h"
#include "services/gateway/answers/response_sink.h"
#include "services/gateway/model_listing.h"

namespace phyllo {
namespace {

using tokenizer::v1::TokenizerService;

// One call to a tokenizer on behalf of `parent`, of any model that is served.
template <typename Request, typename Response>
grpc::Status AskTokenizer(BackendSet& backends, const grpc::ServerContext& parent,
                          grpc::Status (TokenizerService::Stub::*method)(grpc::ClientContext*,
                                                                         const Request&, Response*),
                          const Request& request, Response& response) {
  return ToGrpcStatus(backends.CallTokenizer(nullptr, [&](TokenizerService::Stub& stub) {
    const std::unique_ptr<grpc::ClientContext> context =
        grpc::ClientContext::FromServerContext(parent);
    return (stub.*method)(context.get(), request, &response);
  }));
}

}  // namespace

grpc::Status GatewayServiceImpl::Generate(
    grpc::ServerContext* context, const gateway::v1::GenerateRequest* request,
    grpc::ServerWriter<gateway::v1::GenerateResponse>* writer) {
  StreamSink sink(*context, *writer, parts_.stall_watch);
  return ToGrpcStatus(parts_.generator.Generate(*request, *context, sink));
}

grpc::Status GatewayServiceImpl::GenerateUnary(grpc::ServerContext* context,
                                               const gateway::v1::GenerateUnaryRequest* request,
                                               gateway::v1::GenerateUnaryResponse* response) {
  CollectingSink sink(*response);
  return ToGrpcStatus(parts_.generator.Generate(request->request(), *context, sink));
}

grpc::Status GatewayServiceImpl::Score(grpc::ServerContext* context,
                                       const gateway::v1::ScoreRequest* request,
                                       grpc::ServerWriter<gateway::v1::ScoreResponse>* writer) {
  return ToGrpcStatus(
      parts_.scorer.Score(*request, *context, [&](const gateway::v1::ScoreResponse& message) {
        const StallWatch::Guard guard(parts_.stall_watch, *context);
        return writer->Write(message);
      }));
}

grpc::Status GatewayServiceImpl::Embed(grpc::ServerContext* context,
                                       const gateway::v1::EmbedRequest* request,
                                       gateway::v1::EmbedResponse* response) {
  return ToGrpcStatus(parts_.encoder.Embed(*request, *context, *response));
}

grpc::Status GatewayServiceImpl::Classify(grpc::ServerContext* context,
                                          const gateway::v1::ClassifyRequest* request,
                                          gateway::v1::ClassifyResponse* response) {
  return ToGrpcStatus(parts_.encoder.Classify(*request, *context, *response));
}

grpc::Status GatewayServiceImpl::Tokenize(grpc::ServerContext* context,
                                          const gateway::v1::TokenizeRequest* request,
                                          gateway::v1::TokenizeResponse* response) {
  const absl::Status served =
      CheckServedModel(parts_.backends.Snapshot(), request->has_model(), request->model());
  if (!served.ok()) return ToGrpcStatus(served);
  tokenizer::v1::EncodeRequest encode;
  encode.set_text(request->text());
  if (request->has_add_special_tokens())
    encode.set_add_special_tokens(request->add_special_tokens());
  if (request->has_parse_special_tokens())
    encode.set_parse_special_tokens(request->parse_special_tokens());
  tokenizer::v1::EncodeResponse encoded;
  grpc::Status status =
      AskTokenizer(parts_.backends, *context, &TokenizerService::Stub::Encode, encode, encoded);
  if (!status.ok()) return status;
  response->mutable_token_ids()->Swap(encoded.mutable_token_ids());
  if (!request->with_tokens()) return grpc::Status::OK;
  tokenizer::v1::DecodeRequest decode;
  *decode.mutable_token_ids() = response->token_ids();
  tokenizer::v1::DecodeResponse decoded;
  status =
      AskTokenizer(parts_.backends, *context, &TokenizerService::Stub::Decode, decode, decoded);
  response->mutable_tokens()->Swap(decoded.mutable_tokens());
  return status;
}

grpc::Status GatewayServiceImpl::Detokenize(grpc::ServerContext* context,
                                            const gateway::v1::DetokenizeRequest* request,
                                            gateway::v1::DetokenizeResponse* response) {
  const absl::Status served =
      CheckServedModel(parts_.backends.Snapshot(), request->has_model(), request->model());
  if (!served.ok()) return ToGrpcStatus(served);
  tokenizer::v1::DecodeRequest decode;
  *decode.mutable_token_ids() = request->token_ids();
  if (request->has_skip_special_tokens())
    decode.set_skip_special_tokens(request->skip_special_tokens());
  tokenizer::v1::DecodeResponse decoded;
  grpc::Status status =
      AskTokenizer(parts_.backends, *context, &TokenizerService::Stub::Decode, decode, decoded);
  response->set_text(std::move(*decoded.mutable_text()));
  return status;
}

grpc::Status GatewayServiceImpl::RenderChat(grpc::ServerContext* context,
                                            const gateway::v1::RenderChatRequest* request,
                                            gateway::v1::RenderChatResponse* response) {
  const absl::Status served =
      CheckServedModel(parts_.backends.Snapshot(), request->has_model(), request->model());
  if (!served.ok()) return ToGrpcStatus(served);
  tokenizer::v1::RenderChatRequest render;
  *render.mutable_chat() = request->chat();
  tokenizer::v1::RenderChatResponse rendered;
  grpc::Status status = AskTokenizer(parts_.backends, *context, &TokenizerService::Stub::RenderChat,
                                     render, rendered);
  response->set_text(std::move(*rendered.mutable_text()));
  response->mutable_token_ids()->Swap(rendered.mutable_token_ids());
  return status;
}

grpc::Status GatewayServiceImpl::ListModels(grpc::ServerContext*,
                                            const gateway::v1::ListModelsRequest*,
                                            gateway::v1::ListModelsResponse* response) {
  for (std::string& name : ServedModels(parts_.backends.Snapshot()))
    response->add_models(std::move(name));
  return grpc::Status::OK;
}

grpc::Status GatewayServiceImpl::GetModel(grpc::ServerContext*,
                                          const gateway::v1::GetModelRequest* request,
                                          gateway::v1::GetModelResponse* response) {
  const std::vector<BackendState> backends = parts_.backends.Snapshot();
  const absl::Status served = CheckServedModel(backends, request->has_model(), request->model());
  if (!served.ok()) return ToGrpcStatus(served);
  DescribeModel(backends, *response);
  *response->mutable_gateway() = parts_.identity.Describe();
  return grpc::Status::OK;
}

}  // namespace phyllo
