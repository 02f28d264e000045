#include "services/gateway/scorer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "model/base/status_macros.h"
#include "services/common/status_bridge.h"
#include "services/gateway/answers/answer_decoder.h"
#include "services/gateway/answers/logprob_tokens.h"
#include "services/gateway/prompt_rows.h"
#include "services/gateway/requests/generation_request.h"
#include "services/gateway/requests/parameter_checks.h"
#include "services/gateway/requests/prompt.h"

namespace phyllo {
namespace {

using gateway::v1::ScoreRequest;
using gateway::v1::ScoreResponse;

// What is to be scored.
struct ScoredTokens {
  std::vector<int32_t> token_ids;
  int64_t first_scored_index = 1;
};

absl::Status ValidateScoreRequest(const ScoreRequest& wire,
                                  const transformer::v1::GetInfoResponse& model) {
  const int64_t vocab_size = model.shape().vocab_size();
  PHYLLO_RETURN_IF_ERROR(CheckModelName(wire.has_model(), wire.model(), model.server().model()));
  if (wire.input_case() == ScoreRequest::INPUT_NOT_SET)
    return InvalidField("input", "is required: text or token_ids");
  PHYLLO_RETURN_IF_ERROR(CheckTokenIds("token_ids", wire.token_ids().ids(), vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckLogprobs("logprobs", wire.logprobs(), vocab_size));
  if (wire.context().has_adapter()) return InvalidField("context.adapter", "is not supported yet");
  return CheckContext(wire.context());
}

// What the calls below have in common.
struct Caller {
  const BackendState& partner;
  const grpc::ServerContext& context;
  BackendSet& backends;
};

// The tokens of text and continuation as one text; those of the text alone that begin them are
// context.
absl::StatusOr<ScoredTokens> TokenizeTogether(const ScoreRequest& wire, const Caller& caller) {
  const auto& [partner, context, backends] = caller;
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<int32_t> alone,
                          EncodeText(wire.text(), true, partner, context, backends));
  ScoredTokens scored;
  PHYLLO_ASSIGN_OR_RETURN(scored.token_ids, EncodeText(wire.text() + wire.continuation(), true,
                                                       partner, context, backends));
  const std::vector<int32_t>& together = scored.token_ids;
  scored.first_scored_index =
      std::mismatch(alone.begin(), alone.end(), together.begin(), together.end()).first -
      alone.begin();
  if (scored.first_scored_index == 0 && !together.empty()) {
    return InvalidField("text",
                        "has no token of its own before the continuation: nothing to score after");
  }
  return scored;
}

absl::StatusOr<ScoredTokens> TokenizeInput(const ScoreRequest& wire, const Caller& caller) {
  const auto& [partner, context, backends] = caller;
  if (wire.has_text() && wire.has_continuation()) return TokenizeTogether(wire, caller);
  ScoredTokens scored;
  if (wire.has_text()) {
    PHYLLO_ASSIGN_OR_RETURN(scored.token_ids,
                            EncodeText(wire.text(), true, partner, context, backends));
    return scored;
  }
  scored.token_ids.assign(wire.token_ids().ids().begin(), wire.token_ids().ids().end());
  if (!wire.has_continuation()) return scored;
  if (scored.token_ids.empty())
    return InvalidField("token_ids", "is empty: nothing for the continuation to follow");
  scored.first_scored_index = static_cast<int64_t>(scored.token_ids.size());
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<int32_t> continuation,
                          EncodeText(wire.continuation(), false, partner, context, backends));
  scored.token_ids.insert(scored.token_ids.end(), continuation.begin(), continuation.end());
  return scored;
}

absl::Status CheckTokens(const ScoredTokens& scored, int64_t limit) {
  const auto size = static_cast<int64_t>(scored.token_ids.size());
  if (size <= scored.first_scored_index)
    return InvalidField("input", "has no token to score: the first one has nothing before it");
  if (size <= limit) return absl::OkStatus();
  return WithReason(InvalidField("input", absl::StrCat("has ", size, " tokens; at most ", limit)),
                    {"PROMPT_TOO_LONG",
                     {{"needed_token_count", absl::StrCat(size)},
                      {"available_token_count", absl::StrCat(limit)}}});
}

// Asks the tokenizer for the bytes of all tokens in `logprobs`. Those of ids that only pad the
// vocabulary are empty.
absl::Status AddTokenBytes(AnswerDecoder& decoder, RepeatedLogprobs& logprobs) {
  PHYLLO_ASSIGN_OR_RETURN(DecodedTokens decoded, decoder.Append({}, TokenIdsOf(logprobs)));
  FillTokens(std::move(decoded.lookup_tokens), logprobs);
  return absl::OkStatus();
}

transformer::v1::ScoreRequest MakeStart(const ScoreRequest& wire, const ScoredTokens& scored) {
  transformer::v1::ScoreRequest request;
  transformer::v1::ScoreStart& start = *request.mutable_start();
  start.mutable_token_ids()->Add(scored.token_ids.begin(), scored.token_ids.end());
  start.set_first_scored_index(scored.first_scored_index);
  if (wire.has_logprobs()) *start.mutable_logprobs() = wire.logprobs();
  *start.mutable_context() = wire.context();
  return request;
}

ScoreResponse Summary(const transformer::v1::ScoreFinished& finished, const ScoredTokens& scored) {
  ScoreResponse message;
  gateway::v1::ScoreSummary& summary = *message.mutable_summary();
  const auto size = static_cast<int64_t>(scored.token_ids.size());
  summary.set_total_logprob(finished.total_logprob());
  summary.set_perplexity(
      std::exp(-finished.total_logprob() / static_cast<double>(size - scored.first_scored_index)));
  *summary.mutable_usage() = finished.usage();
  summary.mutable_usage()->set_prompt_token_count(size);
  return message;
}

}  // namespace

absl::Status Scorer::Score(const ScoreRequest& wire, const grpc::ServerContext& context,
                           absl::FunctionRef<bool(const ScoreResponse&)> send) {
  PHYLLO_ASSIGN_OR_RETURN(AdmissionPermit permit, admission_.AdmitRequest());
  PHYLLO_RETURN_IF_ERROR(permit.AddRequestBytes(static_cast<int64_t>(wire.SpaceUsedLong())));
  PHYLLO_ASSIGN_OR_RETURN(TransformerLease lease, backends_.AcquireTransformer());
  PHYLLO_RETURN_IF_ERROR(ValidateScoreRequest(wire, lease.info()));
  const Caller caller{lease.state(), context, backends_};
  PHYLLO_ASSIGN_OR_RETURN(const ScoredTokens scored, TokenizeInput(wire, caller));
  PHYLLO_RETURN_IF_ERROR(CheckTokens(scored, lease.info().max_sequence_length()));
  PHYLLO_RETURN_IF_ERROR(permit.AddTokens(static_cast<int64_t>(scored.token_ids.size())));
  lease.SetTokens(static_cast<int64_t>(scored.token_ids.size()));

  PHYLLO_ASSIGN_OR_RETURN(DecodeMultiplexer* const multiplexer,
                          backends_.PickDecoder(lease.state()));
  AnswerDecoder decoder(*multiplexer, context, {});
  PromptRows rows(backends_, lease.state(), context, scored.token_ids);
  const std::unique_ptr<grpc::ClientContext> call_context =
      grpc::ClientContext::FromServerContext(context);
  const auto stream = lease.stub().Score(call_context.get());
  stream->Write(MakeStart(wire, scored));

  absl::Status status;
  bool listening = true;
  transformer::v1::ScoreResponse event;
  while (status.ok() && listening && stream->Read(&event)) {
    if (event.has_need()) {
      status = rows.Answer(event.need(), [&](transformer::v1::HiddenStates hidden_states) {
        transformer::v1::ScoreRequest answer;
        answer.mutable_hidden_states()->Swap(&hidden_states);
        return stream->Write(answer);
      });
    } else if (event.has_chunk()) {
      ScoreResponse message;
      message.mutable_logprobs()->Swap(event.mutable_chunk()->mutable_logprobs());
      status = AddTokenBytes(decoder, *message.mutable_logprobs());
      if (status.ok()) listening = send(message);
    } else if (event.has_finished()) {
      listening = send(Summary(event.finished(), scored));
    }
  }
  if (!status.ok() || !listening) call_context->TryCancel();
  while (stream->Read(&event)) {
  }
  const absl::Status ended = FromGrpcStatus(stream->Finish());
  if (!status.ok()) return status;
  if (ended.code() == absl::StatusCode::kUnavailable) lease.MarkUnavailable();
  return listening ? BackendCallStatus(BackendKind::kTransformer, ended)
                   : absl::CancelledError("the client is gone");
}

}  // namespace phyllo
