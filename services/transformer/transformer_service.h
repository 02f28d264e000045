// The engine over gRPC.
#ifndef PHYLLO_SERVICES_TRANSFORMER_TRANSFORMER_SERVICE_H_
#define PHYLLO_SERVICES_TRANSFORMER_TRANSFORMER_SERVICE_H_

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "phyllo/transformer/v1/transformer.grpc.pb.h"
#include "services/common/server_identity.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/sequence_stream.h"

namespace phyllo {

// Converts, delegates, converts back; transformer.proto is the contract. Streams hold no thread.
// Borrows its arguments. Thread-safe.
class TransformerServiceImpl final : public transformer::v1::TransformerService::CallbackService {
 public:
  // `info` is the answer to GetInfo but for its `server`, which `identity` describes.
  TransformerServiceImpl(const StreamBackend& backend, const ServerIdentity& identity,
                         transformer::v1::GetInfoResponse info);

  grpc::ServerBidiReactor<transformer::v1::GenerateRequest, transformer::v1::GenerateResponse>*
  Generate(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<transformer::v1::ScoreRequest, transformer::v1::ScoreResponse>* Score(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<transformer::v1::EncodeRequest, transformer::v1::EncodeResponse>* Encode(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const transformer::v1::GetInfoRequest* request,
                                    transformer::v1::GetInfoResponse* response) override;
  grpc::ServerUnaryReactor* GetLoad(grpc::CallbackServerContext* context,
                                    const transformer::v1::GetLoadRequest* request,
                                    transformer::v1::GetLoadResponse* response) override;

 private:
  const StreamBackend backend_;
  const ServerIdentity& identity_;
  const transformer::v1::GetInfoResponse info_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_TRANSFORMER_SERVICE_H_
