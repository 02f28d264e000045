// What the gateway asks a tokenizer for on a client's behalf, and no other service.
#ifndef PHYLLO_SERVICES_GATEWAY_LOOKUPS_TOKENIZER_CALLS_H_
#define PHYLLO_SERVICES_GATEWAY_LOOKUPS_TOKENIZER_CALLS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "phyllo/gateway/v1/gateway.pb.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/requests/admission.h"

namespace phyllo {

// The pipelines of Tokenize, Detokenize and RenderChat: admit, check the model's name, ask.
// gateway.proto is the contract; `parent` is the client's call, and errors are its status. Borrows
// its arguments. Thread-safe.
class TokenizerCalls {
 public:
  // Bytes that such a call takes beside its message.
  static constexpr int64_t kCallBytes = 16 * 1024;

  TokenizerCalls(BackendSet& backends, Admission& admission)
      : backends_(backends), admission_(admission) {}

  Task<absl::Status> Tokenize(const gateway::v1::TokenizeRequest& wire, const ParentCall& parent,
                              gateway::v1::TokenizeResponse& response);
  Task<absl::Status> Detokenize(const gateway::v1::DetokenizeRequest& wire,
                                const ParentCall& parent,
                                gateway::v1::DetokenizeResponse& response);
  Task<absl::Status> RenderChat(const gateway::v1::RenderChatRequest& wire,
                                const ParentCall& parent,
                                gateway::v1::RenderChatResponse& response);

 private:
  BackendSet& backends_;
  Admission& admission_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_LOOKUPS_TOKENIZER_CALLS_H_
