// The public interface over gRPC.
#ifndef PHYLLO_SERVICES_GATEWAY_GATEWAY_SERVICE_H_
#define PHYLLO_SERVICES_GATEWAY_GATEWAY_SERVICE_H_

#include "grpcpp/support/server_callback.h"
#include "phyllo/gateway/v1/gateway.grpc.pb.h"
#include "services/common/server_identity.h"
#include "services/gateway/async/stall_watch.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/encodings/encoder.h"
#include "services/gateway/generator.h"
#include "services/gateway/lookups/tokenizer_calls.h"
#include "services/gateway/scorer.h"

namespace phyllo {

// Borrows everything it is made of.
struct GatewayServiceParts {
  Generator& generator;
  Scorer& scorer;
  Encoder& encoder;
  TokenizerCalls& tokenizer_calls;
  BackendSet& backends;
  StallWatch& stall_watch;
  const ServerIdentity& identity;
};

// Converts, delegates, converts back; gateway.proto is the contract. No call holds a thread.
// Thread-safe.
class GatewayServiceImpl final : public gateway::v1::GatewayService::CallbackService {
 public:
  explicit GatewayServiceImpl(const GatewayServiceParts& parts) : parts_(parts) {}

  grpc::ServerWriteReactor<gateway::v1::GenerateResponse>* Generate(
      grpc::CallbackServerContext* context, const gateway::v1::GenerateRequest* request) override;
  grpc::ServerUnaryReactor* GenerateUnary(grpc::CallbackServerContext* context,
                                          const gateway::v1::GenerateUnaryRequest* request,
                                          gateway::v1::GenerateUnaryResponse* response) override;
  grpc::ServerWriteReactor<gateway::v1::ScoreResponse>* Score(
      grpc::CallbackServerContext* context, const gateway::v1::ScoreRequest* request) override;
  grpc::ServerUnaryReactor* Embed(grpc::CallbackServerContext* context,
                                  const gateway::v1::EmbedRequest* request,
                                  gateway::v1::EmbedResponse* response) override;
  grpc::ServerUnaryReactor* Classify(grpc::CallbackServerContext* context,
                                     const gateway::v1::ClassifyRequest* request,
                                     gateway::v1::ClassifyResponse* response) override;
  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context,
                                     const gateway::v1::TokenizeRequest* request,
                                     gateway::v1::TokenizeResponse* response) override;
  grpc::ServerUnaryReactor* Detokenize(grpc::CallbackServerContext* context,
                                       const gateway::v1::DetokenizeRequest* request,
                                       gateway::v1::DetokenizeResponse* response) override;
  grpc::ServerUnaryReactor* RenderChat(grpc::CallbackServerContext* context,
                                       const gateway::v1::RenderChatRequest* request,
                                       gateway::v1::RenderChatResponse* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const gateway::v1::ListModelsRequest* request,
                                       gateway::v1::ListModelsResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const gateway::v1::GetModelRequest* request,
                                     gateway::v1::GetModelResponse* response) override;

 private:
  const GatewayServiceParts parts_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_GATEWAY_SERVICE_H_
