// The public interface over gRPC.
#ifndef PHYLLO_SERVICES_GATEWAY_GATEWAY_SERVICE_H_
#define PHYLLO_SERVICES_GATEWAY_GATEWAY_SERVICE_H_

#include "phyllo/gateway/v1/gateway.grpc.pb.h"
#include "services/common/server_identity.h"
#include "services/gateway/answers/stall_watch.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/encodings/encoder.h"
#include "services/gateway/generator.h"
#include "services/gateway/scorer.h"

namespace phyllo {

// Borrows everything it is made of.
struct GatewayServiceParts {
  Generator& generator;
  Scorer& scorer;
  Encoder& encoder;
  BackendSet& backends;
  StallWatch& stall_watch;
  const ServerIdentity& identity;
};

// Converts, delegates, converts back; gateway.proto is the contract. Thread-safe.
class GatewayServiceImpl final : public gateway::v1::GatewayService::Service {
 public:
  explicit GatewayServiceImpl(const GatewayServiceParts& parts) : parts_(parts) {}

  grpc::Status Generate(grpc::ServerContext* context, const gateway::v1::GenerateRequest* request,
                        grpc::ServerWriter<gateway::v1::GenerateResponse>* writer) override;
  grpc::Status GenerateUnary(grpc::ServerContext* context,
                             const gateway::v1::GenerateUnaryRequest* request,
                             gateway::v1::GenerateUnaryResponse* response) override;
  grpc::Status Score(grpc::ServerContext* context, const gateway::v1::ScoreRequest* request,
                     grpc::ServerWriter<gateway::v1::ScoreResponse>* writer) override;
  grpc::Status Embed(grpc::ServerContext* context, const gateway::v1::EmbedRequest* request,
                     gateway::v1::EmbedResponse* response) override;
  grpc::Status Classify(grpc::ServerContext* context, const gateway::v1::ClassifyRequest* request,
                        gateway::v1::ClassifyResponse* response) override;
  grpc::Status Tokenize(grpc::ServerContext* context, const gateway::v1::TokenizeRequest* request,
                        gateway::v1::TokenizeResponse* response) override;
  grpc::Status Detokenize(grpc::ServerContext* context,
                          const gateway::v1::DetokenizeRequest* request,
                          gateway::v1::DetokenizeResponse* response) override;
  grpc::Status RenderChat(grpc::ServerContext* context,
                          const gateway::v1::RenderChatRequest* request,
                          gateway::v1::RenderChatResponse* response) override;
  grpc::Status ListModels(grpc::ServerContext* context,
                          const gateway::v1::ListModelsRequest* request,
                          gateway::v1::ListModelsResponse* response) override;
  grpc::Status GetModel(grpc::ServerContext* context, const gateway::v1::GetModelRequest* request,
                        gateway::v1::GetModelResponse* response) override;

 private:
  const GatewayServiceParts parts_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_GATEWAY_SERVICE_H_
