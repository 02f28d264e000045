// Embeddings and classes of texts.
#ifndef PHYLLO_SERVICES_GATEWAY_ENCODINGS_ENCODER_H_
#define PHYLLO_SERVICES_GATEWAY_ENCODINGS_ENCODER_H_

#include "absl/status/status.h"
#include "phyllo/gateway/v1/encode.pb.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/requests/admission.h"

namespace phyllo {

// The pipelines of Embed and Classify: admit, choose a transformer, validate, encode all inputs
// together, turn what the transformer gives into what the client asked for. encode.proto is the
// contract; errors are the client's status. Borrows its arguments. Thread-safe.
class Encoder {
 public:
  Encoder(BackendSet& backends, Admission& admission)
      : backends_(backends), admission_(admission) {}

  // `parent` is the client's call.
  Task<absl::Status> Embed(const gateway::v1::EmbedRequest& wire, const ParentCall& parent,
                           gateway::v1::EmbedResponse& response);
  Task<absl::Status> Classify(const gateway::v1::ClassifyRequest& wire, const ParentCall& parent,
                              gateway::v1::ClassifyResponse& response);

 private:
  BackendSet& backends_;
  Admission& admission_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ENCODINGS_ENCODER_H_
