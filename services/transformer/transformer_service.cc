#include "services/transformer/transformer_service.h"

#include <utility>

#include "services/transformer/wire/response_conversion.h"

namespace phyllo {

TransformerServiceImpl::TransformerServiceImpl(const StreamBackend& backend,
                                               const ServerIdentity& identity,
                                               transformer::v1::GetInfoResponse info)
    : backend_(backend), identity_(identity), info_(std::move(info)) {}

grpc::ServerBidiReactor<transformer::v1::GenerateRequest, transformer::v1::GenerateResponse>*
TransformerServiceImpl::Generate(grpc::CallbackServerContext* context) {
  return SequenceStream<GenerateConversation>::Open(backend_, context);
}

grpc::ServerBidiReactor<transformer::v1::ScoreRequest, transformer::v1::ScoreResponse>*
TransformerServiceImpl::Score(grpc::CallbackServerContext* context) {
  return SequenceStream<ScoreConversation>::Open(backend_, context);
}

grpc::ServerBidiReactor<transformer::v1::EncodeRequest, transformer::v1::EncodeResponse>*
TransformerServiceImpl::Encode(grpc::CallbackServerContext* context) {
  return SequenceStream<EncodeConversation>::Open(backend_, context);
}

grpc::ServerUnaryReactor* TransformerServiceImpl::GetInfo(
    grpc::CallbackServerContext* context, const transformer::v1::GetInfoRequest*,
    transformer::v1::GetInfoResponse* response) {
  *response = info_;
  *response->mutable_server() = identity_.Describe();
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* TransformerServiceImpl::GetLoad(
    grpc::CallbackServerContext* context, const transformer::v1::GetLoadRequest*,
    transformer::v1::GetLoadResponse* response) {
  const EngineStats stats = backend_.engine.stats();
  response->set_running_sequence_count(stats.running_count);
  response->set_waiting_sequence_count(stats.waiting_count);
  response->set_outstanding_prefill_token_count(stats.outstanding_prefill_tokens);
  response->set_used_page_count(stats.pages.used_count);
  response->set_total_page_count(stats.pages.total_count);
  response->set_draining(stats.draining);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace phyllo
