#include "services/gateway/transformer_call.h"

#include <utility>

#include "services/common/status_bridge.h"

namespace phyllo {

using transformer::v1::GenerateResponse;

TransformerCall::TransformerCall(TransformerLease& lease, PromptRows& prompt_rows,
                                 const ParentCall& parent, transformer::v1::GenerateStart start)
    : lease_(lease),
      prompt_rows_(prompt_rows),
      call_(lease.calls(), parent, [&](auto* context, auto* reactor) {
        lease.stub().async()->Generate(context, reactor);
      }) {
  start_.mutable_start()->Swap(&start);
}

Task<absl::StatusOr<GenerateResponse>> TransformerCall::Next() {
  // A failure shows in the next Read.
  if (!std::exchange(started_, true)) co_await call_.Write(start_);
  GenerateResponse response;
  while (co_await call_.Read(response)) {
    if (response.kind_case() == GenerateResponse::kFinished) {
      PHYLLO_CO_RETURN_IF_ERROR(co_await Finish());
      co_return response;
    }
    if (response.kind_case() != GenerateResponse::kNeed) co_return response;
    PHYLLO_CO_RETURN_IF_ERROR(co_await prompt_rows_.Answer(response.need(), call_));
  }
  PHYLLO_CO_RETURN_IF_ERROR(co_await Finish());
  co_return absl::InternalError("the transformer ended the stream without a final message");
}

Task<absl::Status> TransformerCall::Finish() {
  const grpc::Status status = co_await call_.Finish();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) lease_.MarkUnavailable();
  co_return BackendCallStatus(BackendKind::kTransformer, FromGrpcStatus(status));
}

}  // namespace phyllo
