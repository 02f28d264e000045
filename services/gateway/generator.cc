#include "services/gateway/generator.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/digest.h"
#include "services/common/server_identity.h"
#include "services/gateway/backends/path.h"
#include "services/gateway/choices/choice_group.h"
#include "services/gateway/memory/gateway_memory.h"
#include "services/gateway/requests/generation_request.h"
#include "services/gateway/requests/prompt.h"

namespace phyllo {
namespace {

// SHA-256 over the fingerprints of the transformer and of the services that belong to it; equal
// models give equal digests.
std::string PathFingerprint(const std::vector<BackendState>& backends,
                            const BackendState& transformer) {
  std::string fingerprints = transformer.server().fingerprint().SerializeAsString();
  for (const BackendKind kind : {BackendKind::kTokenizer, BackendKind::kEmbedding}) {
    const absl::StatusOr<int64_t> index = ChooseByTurn(backends, kind, &transformer, 0);
    if (index.ok()) fingerprints += backends[*index].server().fingerprint().SerializeAsString();
  }
  return DigestBytes(Sha256Hex(fingerprints));
}

gateway::v1::ResolvedParameters Resolved(const GenerationRequest& request,
                                         const BackendState& transformer,
                                         const std::vector<BackendState>& backends) {
  gateway::v1::ResolvedParameters resolved;
  *resolved.mutable_sampling() = request.sampling;
  *resolved.mutable_stopping() = request.stopping;
  resolved.set_request_id(request.context.request_id());
  resolved.set_model(transformer.server().model());
  resolved.set_path_fingerprint(PathFingerprint(backends, transformer));
  resolved.set_instruction_set(transformer.server().instruction_set());
  resolved.set_precision(transformer.server().precision());
  return resolved;
}

}  // namespace

Generator::Generator(BackendSet& backends, Admission& admission, GatewayMetrics& metrics,
                     Logger& logger)
    : backends_(backends), admission_(admission), metrics_(metrics), logger_(logger) {}

Task<absl::Status> Generator::Generate(const gateway::v1::GenerateRequest& wire, ParentCall& parent,
                                       ResponseSink& sink) {
  GenerationTrace trace;
  absl::Status status = co_await Run(wire, parent, sink, trace);
  // Calls on behalf of a client that has left fail in many ways; this is why.
  if (!status.ok() && parent.is_cancelled())
    status = absl::CancelledError("the client cancelled, left, or its deadline passed");
  metrics_.CountEnd(trace, status);
  logger_.Info("generation ended",
               {{"request_id", trace.request_id},
                {"code", absl::StatusCodeToString(status.code())},
                {"finish_reason", FinishReasonName(trace.finish_reason)},
                {"prompt_tokens", trace.prompt_token_count},
                {"generated_tokens", trace.generated_token_count},
                {"time_to_first_token", trace.time_to_first_token.value_or(absl::ZeroDuration())},
                {"total", trace.since_arrival.Elapsed()}});
  co_return status;
}

// The path of a request. Everything is given back by destructors, in whatever line it ends.
Task<absl::Status> Generator::Run(const gateway::v1::GenerateRequest& wire, ParentCall& parent,
                                  ResponseSink& sink, GenerationTrace& trace) {
  PHYLLO_CO_ASSIGN_OR_RETURN(AdmissionPermit permit, admission_.AdmitRequest());
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddRequestBytes(static_cast<int64_t>(wire.SpaceUsedLong())));
  PHYLLO_CO_ASSIGN_OR_RETURN(TransformerLease lease, backends_.AcquireTransformer());
  PHYLLO_CO_ASSIGN_OR_RETURN(GenerationRequest request,
                             ValidateGenerateRequest(wire, lease.info(), DrawRequestDefaults()));
  trace.request_id = request.context.request_id();

  const Stopwatch tokenize_watch;
  PHYLLO_CO_ASSIGN_OR_RETURN(Prompt prompt,
                             co_await TokenizePrompt(request, lease.state(), parent, backends_));
  PHYLLO_CO_RETURN_IF_ERROR(co_await BanTexts(lease.state(), parent, backends_, request));
  trace.tokenize_time = tokenize_watch.Elapsed();
  PHYLLO_CO_ASSIGN_OR_RETURN(
      trace.truncated_token_count,
      FitPrompt(lease.info().max_sequence_length(), request, prompt.token_ids));
  trace.prompt_token_count = static_cast<int64_t>(prompt.token_ids.size());

  PHYLLO_CO_RETURN_IF_ERROR(permit.AddRequests(request.run_count - 1));
  // All choices share the keys and values of a prompt of ids; vectors are computed for each.
  const int64_t prompt_runs = wire.has_hidden_states() ? request.run_count : 1;
  const int64_t token_count = prompt_runs * trace.prompt_token_count +
                              int64_t{request.run_count} * request.stopping.max_new_tokens();
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddTokens(token_count));
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddRequestBytes(
      AnswerBytes(request, trace.prompt_token_count, /*whole=*/sink.keeps() || request.best_of())));
  lease.SetTokens(token_count);

  const gateway::v1::ResolvedParameters resolved =
      Resolved(request, lease.state(), backends_.Snapshot());
  const ChoiceParts parts{backends_, metrics_, lease, request, prompt, parent, resolved};
  co_return co_await RunChoices(parts, sink, trace);
}

}  // namespace phyllo
