// One generation on one transformer.
#ifndef PHYLLO_SERVICES_GATEWAY_TRANSFORMER_CALL_H_
#define PHYLLO_SERVICES_GATEWAY_TRANSFORMER_CALL_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phyllo/transformer/v1/transformer.grpc.pb.h"
#include "services/gateway/async/client_calls.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/prompt_rows.h"

namespace phyllo {

// Opens the stream, answers the transformer's needs, hands the rest on in order. Cancels the stream
// if it dies before its end: the transformer stops within a step. Borrows all arguments but
// `start`. Thread-compatible.
class TransformerCall {
 public:
  TransformerCall(TransformerLease& lease, PromptRows& prompt_rows, const ParentCall& parent,
                  transformer::v1::GenerateStart start);
  TransformerCall(const TransformerCall&) = delete;
  TransformerCall& operator=(const TransformerCall&) = delete;

  // Waits for the next message that is not a need: tokens, progress or finished. After finished
  // there is none. Errors are the client's status: the transformer's own, or UNAVAILABLE naming the
  // service (the transformer, or the embedding while a need was answered) that is gone. A later
  // version continues on another transformer here: tokens sent so far and the prompt are all it
  // needs.
  Task<absl::StatusOr<transformer::v1::GenerateResponse>> Next();

  // Breaks the stream off: Next ends with an error. Thread-safe.
  void Cancel() { call_.Cancel(); }

 private:
  Task<absl::Status> Finish();

  TransformerLease& lease_;
  PromptRows& prompt_rows_;
  transformer::v1::GenerateRequest start_;
  bool started_ = false;
  BidiCall<transformer::v1::GenerateRequest, transformer::v1::GenerateResponse> call_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_TRANSFORMER_CALL_H_
