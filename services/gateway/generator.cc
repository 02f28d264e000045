#include "services/gateway/generator.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/digest.h"
#include "model/base/status_macros.h"
#include "services/common/server_identity.h"
#include "services/gateway/answers/answer_stream.h"
#include "services/gateway/backends/path.h"
#include "services/gateway/prompt_rows.h"
#include "services/gateway/requests/generation_request.h"
#include "services/gateway/requests/prompt.h"
#include "services/gateway/transformer_call.h"

namespace phyllo {
namespace {

using transformer::v1::GenerateResponse;
using transformer::v1::GenerateStart;

GenerateStart MakeStart(const GenerationRequest& request,
                        const std::vector<int32_t>& prompt_token_ids) {
  GenerateStart start;
  start.mutable_prompt_token_ids()->Add(prompt_token_ids.begin(), prompt_token_ids.end());
  *start.mutable_sampling() = request.sampling;
  *start.mutable_stopping() = request.stopping;
  const gateway::v1::OutputParameters& output = request.wire->output();
  if (output.has_logprobs()) *start.mutable_logprobs() = output.logprobs();
  if (request.wire->has_hidden_states()) start.set_prompt_is_hidden_states(true);
  if (output.has_prompt_logprobs()) *start.mutable_prompt_logprobs() = output.prompt_logprobs();
  *start.mutable_context() = request.context;
  return start;
}

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

absl::Status Generator::Generate(const gateway::v1::GenerateRequest& wire,
                                 const grpc::ServerContext& context, ResponseSink& sink) {
  GenerationTrace trace;
  absl::Status status = Run(wire, context, sink, trace);
  // Calls on behalf of a client that has left fail in many ways; this is why.
  if (!status.ok() && context.IsCancelled())
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
  return status;
}

// The path of a request. Everything is given back by destructors, in whatever line it ends.
absl::Status Generator::Run(const gateway::v1::GenerateRequest& wire,
                            const grpc::ServerContext& context, ResponseSink& sink,
                            GenerationTrace& trace) {
  PHYLLO_ASSIGN_OR_RETURN(AdmissionPermit permit, admission_.AdmitRequest());
  PHYLLO_ASSIGN_OR_RETURN(TransformerLease lease, backends_.AcquireTransformer());
  PHYLLO_ASSIGN_OR_RETURN(GenerationRequest request,
                          ValidateGenerateRequest(wire, lease.info(), DrawRequestDefaults()));
  trace.request_id = request.context.request_id();
  if (wire.has_hidden_states()) {
    PHYLLO_RETURN_IF_ERROR(
        permit.AddPromptRowBytes(static_cast<int64_t>(wire.hidden_states().data().size())));
  }

  const Stopwatch tokenize_watch;
  PHYLLO_ASSIGN_OR_RETURN(Prompt prompt,
                          TokenizePrompt(request, lease.state(), context, backends_));
  PHYLLO_RETURN_IF_ERROR(BanTexts(lease.state(), context, backends_, request));
  trace.tokenize_time = tokenize_watch.Elapsed();
  PHYLLO_ASSIGN_OR_RETURN(trace.truncated_token_count,
                          FitPrompt(lease.info().max_sequence_length(), request, prompt.token_ids));
  trace.prompt_token_count = static_cast<int64_t>(prompt.token_ids.size());

  const int64_t token_count = trace.prompt_token_count + request.stopping.max_new_tokens();
  PHYLLO_RETURN_IF_ERROR(permit.AddTokens(token_count));
  lease.SetTokens(token_count);

  PHYLLO_ASSIGN_OR_RETURN(tokenizer::v1::TokenizerService::Stub* const tokenizer,
                          backends_.PickTokenizer(lease.state()));
  AnswerStream answer({request, prompt, sink, metrics_, trace}, *tokenizer, context);
  PromptRows prompt_rows(backends_, lease.state(), context, prompt.token_ids);
  if (wire.has_hidden_states()) prompt_rows.UseGivenRows(wire.hidden_states());
  TransformerCall call(lease, prompt_rows, context, MakeStart(request, prompt.token_ids));

  PHYLLO_RETURN_IF_ERROR(answer.Begin());
  while (!answer.ended()) {
    PHYLLO_ASSIGN_OR_RETURN(const GenerateResponse event, call.Next());
    if (event.has_tokens()) PHYLLO_RETURN_IF_ERROR(answer.AddTokens(event.tokens()));
    if (event.has_prefill_progress())
      PHYLLO_RETURN_IF_ERROR(answer.AddProgress(event.prefill_progress()));
    if (event.has_prefilled()) answer.SetPrefilled(event.prefilled());
    if (event.has_prompt_logprobs())
      PHYLLO_RETURN_IF_ERROR(answer.AddPromptLogprobs(event.prompt_logprobs()));
    if (event.has_finished()) PHYLLO_RETURN_IF_ERROR(answer.End(event.finished()));
  }
  trace.embed_time = prompt_rows.embed_time();
  return answer.SendFinished(Resolved(request, lease.state(), backends_.Snapshot()));
}

}  // namespace phyllo
