// The embedding table over gRPC.
#ifndef PHYLLO_SERVICES_EMBEDDING_EMBEDDING_SERVICE_H_
#define PHYLLO_SERVICES_EMBEDDING_EMBEDDING_SERVICE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "model/embedding/embedding_table.h"
#include "phyllo/embedding/v1/embedding.grpc.pb.h"
#include "services/common/calls/call_limit.h"
#include "services/common/server_identity.h"

namespace phyllo {

struct EmbeddingServiceOptions {
  int64_t max_rows = 4096;  // of a message; as many as one can hold if that is less
  int64_t max_calls = 512;  // Embed and EmbedStream under way; more get RESOURCE_EXHAUSTED
};

// Converts, delegates, converts back; embedding.proto is the contract. Rows go out in the
// checkpoint's own type where they pass unchanged. Calls hold no thread: gRPC's own copy the rows,
// and wait only for those that must be read from disk. A stream reads a request when the answer to
// the one before is written, so nothing piles up. Borrows its arguments. Thread-safe. Outlives its
// calls.
class EmbeddingServiceImpl final : public embedding::v1::EmbeddingService::CallbackService {
 public:
  EmbeddingServiceImpl(const EmbeddingTable& table, const ServerIdentity& identity,
                       const EmbeddingServiceOptions& options);

  grpc::ServerUnaryReactor* Embed(grpc::CallbackServerContext* context,
                                  const embedding::v1::EmbedRequest* request,
                                  embedding::v1::EmbedResponse* response) override;
  grpc::ServerBidiReactor<embedding::v1::EmbedStreamRequest, embedding::v1::EmbedStreamResponse>*
  EmbedStream(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const embedding::v1::GetInfoRequest* request,
                                    embedding::v1::GetInfoResponse* response) override;

 private:
  class StreamCall;

  absl::Status CheckRowCount(int64_t row_count) const;
  // A tensor [row_count, hidden_size] of zeros.
  common::v1::Tensor MakeRows(int64_t row_count) const;
  absl::Status EmbedRun(const embedding::v1::EmbedRequest& request, common::v1::Tensor& rows) const;
  absl::Status EmbedAtPositions(const embedding::v1::EmbedStreamRequest& request,
                                common::v1::Tensor& rows) const;

  const EmbeddingTable& table_;
  const ServerIdentity& identity_;
  const int64_t row_bytes_;
  const int64_t max_rows_;
  CallLimit calls_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_EMBEDDING_EMBEDDING_SERVICE_H_
