#include "services/gateway/transformer_call.h"

#include <utility>

#include "model/base/status_macros.h"
#include "services/common/status_bridge.h"

namespace phyllo {

using transformer::v1::GenerateRequest;
using transformer::v1::GenerateResponse;

TransformerCall::TransformerCall(TransformerLease& lease, PromptRows& prompt_rows,
                                 const grpc::ServerContext& parent,
                                 const transformer::v1::GenerateStart& start)
    : lease_(lease),
      prompt_rows_(prompt_rows),
      context_(grpc::ClientContext::FromServerContext(parent)) {
  stream_ = lease_.stub().Generate(context_.get());
  GenerateRequest request;
  *request.mutable_start() = start;
  // A failure shows in the next Read.
  stream_->Write(request);
}

TransformerCall::~TransformerCall() {
  if (ended_) return;
  context_->TryCancel();
  GenerateResponse dropped;
  while (stream_->Read(&dropped)) {
  }
  stream_->Finish();
}

absl::StatusOr<GenerateResponse> TransformerCall::Next() {
  GenerateResponse response;
  while (stream_->Read(&response)) {
    if (response.kind_case() == GenerateResponse::kFinished) {
      PHYLLO_RETURN_IF_ERROR(Finish());
      return response;
    }
    if (response.kind_case() != GenerateResponse::kNeed) return response;
    PHYLLO_RETURN_IF_ERROR(AnswerNeed(response.need()));
  }
  PHYLLO_RETURN_IF_ERROR(Finish());
  return absl::InternalError("the transformer ended the stream without a final message");
}

absl::Status TransformerCall::AnswerNeed(const transformer::v1::Need& need) {
  return prompt_rows_.Answer(need, [this](transformer::v1::HiddenStates rows) {
    GenerateRequest request;
    request.mutable_hidden_states()->Swap(&rows);
    return stream_->Write(request);
  });
}

absl::Status TransformerCall::Finish() {
  ended_ = true;
  stream_->WritesDone();
  GenerateResponse unexpected;
  while (stream_->Read(&unexpected)) {
  }
  const grpc::Status status = stream_->Finish();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) lease_.MarkUnavailable();
  return BackendCallStatus(BackendKind::kTransformer, FromGrpcStatus(status));
}

}  // namespace phyllo
