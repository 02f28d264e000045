// A generation from arrival to its one status.
#ifndef PHYLLO_SERVICES_GATEWAY_GENERATOR_H_
#define PHYLLO_SERVICES_GATEWAY_GENERATOR_H_

#include "absl/status/status.h"
#include "phyllo/gateway/v1/generate.pb.h"
#include "services/common/logger.h"
#include "services/gateway/answers/response_sink.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/requests/admission.h"
#include "services/gateway/requests/gateway_metrics.h"

namespace phyllo {

// The pipeline of the gateway. Borrows its arguments. Thread-safe; a generation holds no thread
// while it waits.
class Generator {
 public:
  Generator(BackendSet& backends, Admission& admission, GatewayMetrics& metrics, Logger& logger);

  // Runs one request, sends its messages to `sink`, and returns the status that ends it; counts and
  // logs it. The end of `parent`, the client's call, ends everything that is done for it.
  Task<absl::Status> Generate(const gateway::v1::GenerateRequest& wire, ParentCall& parent,
                              ResponseSink& sink);

 private:
  Task<absl::Status> Run(const gateway::v1::GenerateRequest& wire, ParentCall& parent,
                         ResponseSink& sink, GenerationTrace& trace);

  BackendSet& backends_;
  Admission& admission_;
  GatewayMetrics& metrics_;
  Logger& logger_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_GENERATOR_H_
