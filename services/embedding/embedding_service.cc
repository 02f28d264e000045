#include "services/embedding/embedding_service.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tensor/dtype.h"
#include "services/common/message_limits.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using common::v1::DataType;
using common::v1::Tensor;
using embedding::v1::EmbedRequest;
using embedding::v1::EmbedResponse;
using embedding::v1::EmbedStreamRequest;
using embedding::v1::EmbedStreamResponse;
using embedding::v1::GetInfoRequest;
using embedding::v1::GetInfoResponse;

// Tag, shape and lengths around the rows.
constexpr int64_t kMessageOverheadBytes = 1024;

DataType WireType(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return common::v1::DATA_TYPE_F16;
    case DType::kBf16:
      return common::v1::DATA_TYPE_BF16;
    default:
      return common::v1::DATA_TYPE_F32;  // EmbeddingTable's rows have one of these three types.
  }
}

absl::Span<uint8_t> MutableBytes(std::string& bytes) {
  return {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

EmbeddingServiceImpl::EmbeddingServiceImpl(const EmbeddingTable& table,
                                           const ServerIdentity& identity, int64_t max_rows)
    : table_(table),
      identity_(identity),
      row_bytes_(table.hidden_size() * ByteSize(table.native_dtype())),
      max_rows_(std::clamp<int64_t>((kMaxMessageBytes - kMessageOverheadBytes) / row_bytes_, 1,
                                    max_rows)) {}

grpc::Status EmbeddingServiceImpl::Embed(grpc::ServerContext*, const EmbedRequest* request,
                                         EmbedResponse* response) {
  const absl::Status count = CheckRowCount(request->token_ids_size());
  if (!count.ok()) return ToGrpcStatus(count);
  Tensor& rows = *response->mutable_hidden_states() = MakeRows(request->token_ids_size());
  return ToGrpcStatus(table_.EmbedNative(request->token_ids(), request->first_position(),
                                         MutableBytes(*rows.mutable_data())));
}

grpc::Status EmbeddingServiceImpl::EmbedStream(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<EmbedStreamResponse, EmbedStreamRequest>* stream) {
  EmbedStreamRequest request;
  while (stream->Read(&request)) {
    EmbedStreamResponse response;
    const absl::Status status = EmbedAtPositions(request, *response.mutable_hidden_states());
    if (!status.ok()) return ToGrpcStatus(status);
    if (!stream->Write(response)) break;
  }
  return grpc::Status::OK;
}

grpc::Status EmbeddingServiceImpl::GetInfo(grpc::ServerContext*, const GetInfoRequest*,
                                           GetInfoResponse* response) {
  *response->mutable_server() = identity_.Describe();
  response->set_vocab_size(table_.vocab_size());
  response->set_hidden_size(table_.hidden_size());
  response->set_data_type(WireType(table_.native_dtype()));
  response->set_max_rows(max_rows_);
  return grpc::Status::OK;
}

absl::Status EmbeddingServiceImpl::CheckRowCount(int64_t row_count) const {
  if (row_count >= 1 && row_count <= max_rows_) return absl::OkStatus();
  return InvalidField(
      "token_ids",
      absl::StrCat("has ", row_count, " ids; the number must be in [1, ", max_rows_, "]"));
}

Tensor EmbeddingServiceImpl::MakeRows(int64_t row_count) const {
  Tensor rows;
  rows.set_data_type(WireType(table_.native_dtype()));
  rows.add_shape(row_count);
  rows.add_shape(table_.hidden_size());
  rows.mutable_data()->resize(static_cast<size_t>(row_count * row_bytes_));
  return rows;
}

absl::Status EmbeddingServiceImpl::EmbedAtPositions(const EmbedStreamRequest& request,
                                                    Tensor& rows) const {
  PHYLLO_RETURN_IF_ERROR(CheckRowCount(request.token_ids_size()));
  if (request.positions_size() != request.token_ids_size()) {
    return InvalidField("positions", absl::StrCat("has ", request.positions_size(), " values for ",
                                                  request.token_ids_size(), " ids"));
  }
  rows = MakeRows(request.token_ids_size());
  const absl::Span<uint8_t> bytes = MutableBytes(*rows.mutable_data());
  for (int i = 0; i < request.token_ids_size(); ++i) {
    PHYLLO_RETURN_IF_ERROR(table_.EmbedNative({request.token_ids(i)}, request.positions(i),
                                              bytes.subspan(i * row_bytes_, row_bytes_)));
  }
  return absl::OkStatus();
}

}  // namespace phyllo
