// The embedding table over gRPC.
#ifndef PHYLLO_SERVICES_EMBEDDING_EMBEDDING_SERVICE_H_
#define PHYLLO_SERVICES_EMBEDDING_EMBEDDING_SERVICE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/embedding/embedding_table.h"
#include "phyllo/embedding/v1/embedding.grpc.pb.h"
#include "services/common/server_identity.h"

namespace phyllo {

// Converts, delegates, converts back; embedding.proto is the contract. Rows go out in the
// checkpoint's own type where they pass unchanged. Borrows its arguments. Thread-safe.
class EmbeddingServiceImpl final : public embedding::v1::EmbeddingService::Service {
 public:
  // Answers at most `max_rows` rows in a message; as many as a message can hold if that is less.
  EmbeddingServiceImpl(const EmbeddingTable& table, const ServerIdentity& identity,
                       int64_t max_rows);

  grpc::Status Embed(grpc::ServerContext* context, const embedding::v1::EmbedRequest* request,
                     embedding::v1::EmbedResponse* response) override;
  grpc::Status EmbedStream(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<embedding::v1::EmbedStreamResponse,
                               embedding::v1::EmbedStreamRequest>* stream) override;
  grpc::Status GetInfo(grpc::ServerContext* context, const embedding::v1::GetInfoRequest* request,
                       embedding::v1::GetInfoResponse* response) override;

 private:
  absl::Status CheckRowCount(int64_t row_count) const;
  // A tensor [row_count, hidden_size] of zeros.
  common::v1::Tensor MakeRows(int64_t row_count) const;
  absl::Status EmbedAtPositions(const embedding::v1::EmbedStreamRequest& request,
                                common::v1::Tensor& rows) const;

  const EmbeddingTable& table_;
  const ServerIdentity& identity_;
  const int64_t row_bytes_;
  const int64_t max_rows_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_EMBEDDING_EMBEDDING_SERVICE_H_
