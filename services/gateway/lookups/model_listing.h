// What the gateway says of the model and the servers behind it.
#ifndef PHYLLO_SERVICES_GATEWAY_LOOKUPS_MODEL_LISTING_H_
#define PHYLLO_SERVICES_GATEWAY_LOOKUPS_MODEL_LISTING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "phyllo/gateway/v1/gateway.pb.h"
#include "services/gateway/backends/backend.h"

namespace phyllo {

// The name of the model for which there is a complete path; none if there is none.
std::vector<std::string> ServedModels(absl::Span<const BackendState> backends);

// OK, or NOT_FOUND if `name` is given and no available server has it. Without any available server,
// which then cannot know, OK: the call that follows says what is missing.
absl::Status CheckServedModel(absl::Span<const BackendState> backends, bool has_name,
                              const std::string& name);

// Fills everything but `gateway`. What is not known, because no transformer or tokenizer answers,
// stays absent; `backends` says why.
void DescribeModel(absl::Span<const BackendState> backends,
                   gateway::v1::GetModelResponse& response);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_LOOKUPS_MODEL_LISTING_H_
