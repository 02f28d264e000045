#include "services/gateway/lookups/model_listing.h"

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "services/common/server_identity.h"
#include "services/gateway/backends/path.h"
#include "services/gateway/requests/generation_request.h"

namespace phyllo {

std::vector<std::string> ServedModels(absl::Span<const BackendState> backends) {
  const absl::StatusOr<int64_t> index = ChooseTransformer(backends, 0);
  if (!index.ok()) return {};
  return {backends[*index].server().model()};
}

absl::Status CheckServedModel(absl::Span<const BackendState> backends, bool has_name,
                              const std::string& name) {
  absl::Status status;
  for (const BackendState& backend : backends) {
    if (!backend.available()) continue;
    status = CheckModelName(has_name, name, backend.server().model());
    if (status.ok()) return status;
  }
  return status;
}

void DescribeModel(absl::Span<const BackendState> backends,
                   gateway::v1::GetModelResponse& response) {
  // The transformer of the path, or else any that answers: the description is wanted most when
  // something is missing.
  const BackendState* transformer = nullptr;
  const absl::StatusOr<int64_t> on_path = ChooseTransformer(backends, 0);
  const absl::StatusOr<int64_t> any = ChooseByTurn(backends, BackendKind::kTransformer, nullptr, 0);
  if (on_path.ok()) {
    transformer = &backends[*on_path];
  } else if (any.ok()) {
    transformer = &backends[*any];
  }
  if (transformer != nullptr) {
    const transformer::v1::GetInfoResponse& info = transformer->transformer;
    response.set_model(info.server().model());
    *response.mutable_shape() = info.shape();
    response.set_max_sequence_length(info.max_sequence_length());
    response.set_head(info.head());
    *response.mutable_labels() = info.labels();
    response.set_problem_type(info.problem_type());
    response.set_default_pooling(info.default_pooling());
    *response.mutable_default_sampling() = info.default_sampling();
    *response.mutable_default_stopping() = info.default_stopping();
  }
  for (const BackendState& backend : backends) {
    absl::Status reason = backend.health;
    if (reason.ok() && transformer != nullptr)
      reason =
          CheckSameModel(transformer->name, transformer->server(), backend.name, backend.server());
    gateway::v1::Backend& listed = *response.add_backends();
    listed.set_service(std::string(BackendKindName(backend.kind)));
    listed.set_address(backend.address);
    listed.set_available(reason.ok());
    if (!reason.ok())
      listed.set_reason(
          absl::StrCat(absl::StatusCodeToString(reason.code()), ": ", reason.message()));
    *listed.mutable_server() = backend.server();
    listed.set_outstanding_token_count(backend.outstanding_tokens);
    if (backend.kind == BackendKind::kTokenizer && reason.ok() &&
        backend.tokenizer.has_chat_template())
      response.set_has_chat_template(true);
  }
}

}  // namespace phyllo
