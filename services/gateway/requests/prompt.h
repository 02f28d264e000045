// From what the client sent to the token ids of the prompt.
#ifndef PHYLLO_SERVICES_GATEWAY_REQUESTS_PROMPT_H_
#define PHYLLO_SERVICES_GATEWAY_REQUESTS_PROMPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/requests/generation_request.h"

namespace phyllo {

struct Prompt {
  std::vector<int32_t> token_ids;  // [n]; all -1 if the prompt is given as rows
  // As it was tokenized; of a prompt of ids only if it is to be repeated before the answer.
  std::string text;
};

// Encodes the text, renders the conversation, or takes ids or rows as they are. `partner` is the
// transformer they are for; the end of `parent`, the client's call, ends the calls made here.
// Errors are the client's status.
Task<absl::StatusOr<Prompt>> TokenizePrompt(const GenerationRequest& request,
                                            const BackendState& partner, const ParentCall& parent,
                                            BackendSet& backends);

// Adds to request.sampling the sequences that forbid its banned_texts: each text's ids, and those
// it has after a space. INVALID_ARGUMENT if one has more ids than a sequence may.
Task<absl::Status> BanTexts(const BackendState& partner, const ParentCall& parent,
                            BackendSet& backends, GenerationRequest& request);

// The ids of plain text in which control tokens are not recognised.
Task<absl::StatusOr<std::vector<int32_t>>> EncodeText(const std::string& text,
                                                      bool add_special_tokens,
                                                      const BackendState& partner,
                                                      const ParentCall& parent,
                                                      BackendSet& backends);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_REQUESTS_PROMPT_H_
