#include "services/gateway/gateway_service.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "services/common/status_bridge.h"
#include "services/gateway/answers/response_sink.h"
#include "services/gateway/async/server_calls.h"
#include "services/gateway/async/task.h"
#include "services/gateway/lookups/model_listing.h"

namespace phyllo {
namespace {

Task<absl::Status> GenerateInto(Generator& generator, const gateway::v1::GenerateRequest& request,
                                StreamServerCall<gateway::v1::GenerateResponse>& call) {
  StreamSink sink(call);
  co_return co_await generator.Generate(request, call.parent(), sink);
}

Task<absl::Status> GenerateInto(Generator& generator, const gateway::v1::GenerateRequest& request,
                                ParentCall& parent, gateway::v1::GenerateUnaryResponse& response) {
  CollectingSink sink(response);
  co_return co_await generator.Generate(request, parent, sink);
}

// Answers `context`'s call at once.
grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext& context, const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

}  // namespace

grpc::ServerWriteReactor<gateway::v1::GenerateResponse>* GatewayServiceImpl::Generate(
    grpc::CallbackServerContext* context, const gateway::v1::GenerateRequest* request) {
  auto* const call =
      new StreamServerCall<gateway::v1::GenerateResponse>(*context, parts_.stall_watch);
  call->Run(GenerateInto(parts_.generator, *request, *call));
  return call;
}

grpc::ServerUnaryReactor* GatewayServiceImpl::GenerateUnary(
    grpc::CallbackServerContext* context, const gateway::v1::GenerateUnaryRequest* request,
    gateway::v1::GenerateUnaryResponse* response) {
  auto* const call = new UnaryServerCall(*context);
  call->Run(GenerateInto(parts_.generator, request->request(), call->parent(), *response));
  return call;
}

grpc::ServerWriteReactor<gateway::v1::ScoreResponse>* GatewayServiceImpl::Score(
    grpc::CallbackServerContext* context, const gateway::v1::ScoreRequest* request) {
  auto* const call = new StreamServerCall<gateway::v1::ScoreResponse>(*context, parts_.stall_watch);
  call->Run(parts_.scorer.Score(*request, *call));
  return call;
}

grpc::ServerUnaryReactor* GatewayServiceImpl::Embed(grpc::CallbackServerContext* context,
                                                    const gateway::v1::EmbedRequest* request,
                                                    gateway::v1::EmbedResponse* response) {
  auto* const call = new UnaryServerCall(*context);
  call->Run(parts_.encoder.Embed(*request, call->parent(), *response));
  return call;
}

grpc::ServerUnaryReactor* GatewayServiceImpl::Classify(grpc::CallbackServerContext* context,
                                                       const gateway::v1::ClassifyRequest* request,
                                                       gateway::v1::ClassifyResponse* response) {
  auto* const call = new UnaryServerCall(*context);
  call->Run(parts_.encoder.Classify(*request, call->parent(), *response));
  return call;
}

grpc::ServerUnaryReactor* GatewayServiceImpl::Tokenize(grpc::CallbackServerContext* context,
                                                       const gateway::v1::TokenizeRequest* request,
                                                       gateway::v1::TokenizeResponse* response) {
  auto* const call = new UnaryServerCall(*context);
  call->Run(parts_.tokenizer_calls.Tokenize(*request, call->parent(), *response));
  return call;
}

grpc::ServerUnaryReactor* GatewayServiceImpl::Detokenize(
    grpc::CallbackServerContext* context, const gateway::v1::DetokenizeRequest* request,
    gateway::v1::DetokenizeResponse* response) {
  auto* const call = new UnaryServerCall(*context);
  call->Run(parts_.tokenizer_calls.Detokenize(*request, call->parent(), *response));
  return call;
}

grpc::ServerUnaryReactor* GatewayServiceImpl::RenderChat(
    grpc::CallbackServerContext* context, const gateway::v1::RenderChatRequest* request,
    gateway::v1::RenderChatResponse* response) {
  auto* const call = new UnaryServerCall(*context);
  call->Run(parts_.tokenizer_calls.RenderChat(*request, call->parent(), *response));
  return call;
}

grpc::ServerUnaryReactor* GatewayServiceImpl::ListModels(
    grpc::CallbackServerContext* context, const gateway::v1::ListModelsRequest*,
    gateway::v1::ListModelsResponse* response) {
  for (std::string& name : ServedModels(parts_.backends.Snapshot()))
    response->add_models(std::move(name));
  return Finish(*context, absl::OkStatus());
}

grpc::ServerUnaryReactor* GatewayServiceImpl::GetModel(grpc::CallbackServerContext* context,
                                                       const gateway::v1::GetModelRequest* request,
                                                       gateway::v1::GetModelResponse* response) {
  const std::vector<BackendState> backends = parts_.backends.Snapshot();
  const absl::Status served = CheckServedModel(backends, request->has_model(), request->model());
  if (!served.ok()) return Finish(*context, served);
  DescribeModel(backends, *response);
  *response->mutable_gateway() = parts_.identity.Describe();
  return Finish(*context, absl::OkStatus());
}

}  // namespace phyllo
