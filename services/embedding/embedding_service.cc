#include "services/embedding/embedding_service.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
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

// Keeps its place among the calls until gRPC has sent the answer. Lives until gRPC calls OnDone.
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  explicit UnaryCall(CallPermit permit) : permit_(std::move(permit)) {}
  void OnDone() override { delete this; }

 private:
  const CallPermit permit_;
};

}  // namespace

// Answers one request after the other, in gRPC's threads: a read or a write is under way, never
// both. Lives until gRPC calls OnDone.
class EmbeddingServiceImpl::StreamCall final
    : public grpc::ServerBidiReactor<EmbedStreamRequest, EmbedStreamResponse> {
 public:
  // Ends at once if it has no place among the calls.
  StreamCall(const EmbeddingServiceImpl& service, absl::StatusOr<CallPermit> permit)
      : service_(service), permit_(std::move(permit)) {
    if (permit_.ok()) {
      StartRead(&request_);
    } else {
      Finish(ToGrpcStatus(permit_.status()));
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    const absl::Status status =
        service_.EmbedAtPositions(request_, *response_.mutable_hidden_states());
    if (status.ok()) {
      StartWrite(&response_);
    } else {
      Finish(ToGrpcStatus(status));
    }
  }

  void OnWriteDone(bool ok) override {
    response_ = EmbedStreamResponse();  // a stream that waits holds no rows
    if (ok) {
      StartRead(&request_);
    } else {
      Finish(grpc::Status::OK);
    }
  }

  void OnDone() override { delete this; }

 private:
  const EmbeddingServiceImpl& service_;
  const absl::StatusOr<CallPermit> permit_;
  EmbedStreamRequest request_;
  EmbedStreamResponse response_;
};

EmbeddingServiceImpl::EmbeddingServiceImpl(const EmbeddingTable& table,
                                           const ServerIdentity& identity,
                                           const EmbeddingServiceOptions& options)
    : table_(table),
      identity_(identity),
      row_bytes_(table.hidden_size() * ByteSize(table.native_dtype())),
      max_rows_(std::clamp<int64_t>((kMaxMessageBytes - kMessageOverheadBytes) / row_bytes_, 1,
                                    options.max_rows)),
      calls_(options.max_calls) {}

grpc::ServerUnaryReactor* EmbeddingServiceImpl::Embed(grpc::CallbackServerContext* context,
                                                      const EmbedRequest* request,
                                                      EmbedResponse* response) {
  absl::StatusOr<CallPermit> permit = calls_.Admit();
  if (!permit.ok()) {
    grpc::ServerUnaryReactor* const refusal = context->DefaultReactor();
    refusal->Finish(ToGrpcStatus(permit.status()));
    return refusal;
  }
  auto* const call = new UnaryCall(*std::move(permit));
  call->Finish(ToGrpcStatus(EmbedRun(*request, *response->mutable_hidden_states())));
  return call;
}

grpc::ServerBidiReactor<EmbedStreamRequest, EmbedStreamResponse>* EmbeddingServiceImpl::EmbedStream(
    grpc::CallbackServerContext*) {
  return new StreamCall(*this, calls_.Admit());
}

grpc::ServerUnaryReactor* EmbeddingServiceImpl::GetInfo(grpc::CallbackServerContext* context,
                                                        const GetInfoRequest*,
                                                        GetInfoResponse* response) {
  *response->mutable_server() = identity_.Describe();
  response->set_vocab_size(table_.vocab_size());
  response->set_hidden_size(table_.hidden_size());
  response->set_data_type(WireType(table_.native_dtype()));
  response->set_max_rows(max_rows_);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
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

absl::Status EmbeddingServiceImpl::EmbedRun(const EmbedRequest& request, Tensor& rows) const {
  PHYLLO_RETURN_IF_ERROR(CheckRowCount(request.token_ids_size()));
  rows = MakeRows(request.token_ids_size());
  return table_.EmbedNative(request.token_ids(), request.first_position(),
                            MutableBytes(*rows.mutable_data()));
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
