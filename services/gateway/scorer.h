// Scores of given texts.
#ifndef PHYLLO_SERVICES_GATEWAY_SCORER_H_
#define PHYLLO_SERVICES_GATEWAY_SCORER_H_

#include "absl/status/status.h"
#include "phyllo/gateway/v1/gateway.pb.h"
#include "services/gateway/async/server_calls.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/requests/admission.h"

namespace phyllo {

// The pipeline of a scoring: tokenize, open the transformer's Score, answer its needs, pass its
// chunks on with the bytes of their tokens. A need is answered after the chunks before it were
// sent, so that a slow client slows the scoring down and nothing piles up. Text and continuation
// are tokenized as one text, as whoever compares continuations with transformers does;
// gateway.proto says which tokens are scored. Borrows its arguments. Thread-safe.
class Scorer {
 public:
  Scorer(BackendSet& backends, Admission& admission) : backends_(backends), admission_(admission) {}

  // Writes messages to `client` and returns the status that ends its call.
  Task<absl::Status> Score(const gateway::v1::ScoreRequest& wire,
                           StreamServerCall<gateway::v1::ScoreResponse>& client);

 private:
  BackendSet& backends_;
  Admission& admission_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_SCORER_H_
