#include "services/gateway/scorer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "services/common/status_bridge.h"
#include "services/gateway/answers/answer_decoder.h"
#include "services/gateway/answers/logprob_tokens.h"
#include "services/gateway/async/client_calls.h"
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
  const ParentCall& parent;
  BackendSet& backends;
};

// The tokens of text and continuation as one text; those of the text alone that begin them are
// context.
Task<absl::StatusOr<ScoredTokens>> TokenizeTogether(const ScoreRequest& wire,
                                                    const Caller& caller) {
  const auto& [partner, parent, backends] = caller;
  PHYLLO_CO_ASSIGN_OR_RETURN(const std::vector<int32_t> alone,
                             co_await EncodeText(wire.text(), true, partner, parent, backends));
  ScoredTokens scored;
  const std::string text = wire.text() + wire.continuation();
  PHYLLO_CO_ASSIGN_OR_RETURN(scored.token_ids,
                             co_await EncodeText(text, true, partner, parent, backends));
  const std::vector<int32_t>& together = scored.token_ids;
  scored.first_scored_index =
      std::mismatch(alone.begin(), alone.end(), together.begin(), together.end()).first -
      alone.begin();
  if (scored.first_scored_index == 0 && !together.empty()) {
    co_return InvalidField(
        "text", "has no token of its own before the continuation: nothing to score after");
  }
  co_return scored;
}

Task<absl::StatusOr<ScoredTokens>> TokenizeInput(const ScoreRequest& wire, const Caller& caller) {
  const auto& [partner, parent, backends] = caller;
  if (wire.has_text() && wire.has_continuation()) co_return co_await TokenizeTogether(wire, caller);
  ScoredTokens scored;
  if (wire.has_text()) {
    PHYLLO_CO_ASSIGN_OR_RETURN(scored.token_ids,
                               co_await EncodeText(wire.text(), true, partner, parent, backends));
    co_return scored;
  }
  scored.token_ids.assign(wire.token_ids().ids().begin(), wire.token_ids().ids().end());
  if (!wire.has_continuation()) co_return scored;
  if (scored.token_ids.empty())
    co_return InvalidField("token_ids", "is empty: nothing for the continuation to follow");
  scored.first_scored_index = static_cast<int64_t>(scored.token_ids.size());
  PHYLLO_CO_ASSIGN_OR_RETURN(
      const std::vector<int32_t> continuation,
      co_await EncodeText(wire.continuation(), false, partner, parent, backends));
  scored.token_ids.insert(scored.token_ids.end(), continuation.begin(), continuation.end());
  co_return scored;
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
Task<absl::Status> AddTokenBytes(AnswerDecoder& decoder, RepeatedLogprobs& logprobs) {
  const std::vector<int32_t> token_ids = TokenIdsOf(logprobs);
  PHYLLO_CO_ASSIGN_OR_RETURN(DecodedTokens decoded, co_await decoder.Append({}, token_ids));
  FillTokens(std::move(decoded.lookup_tokens), logprobs);
  co_return absl::OkStatus();
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

Task<absl::Status> Scorer::Score(const ScoreRequest& wire,
                                 StreamServerCall<ScoreResponse>& client) {
  PHYLLO_CO_ASSIGN_OR_RETURN(AdmissionPermit permit, admission_.AdmitRequest());
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddRequestBytes(static_cast<int64_t>(wire.SpaceUsedLong())));
  PHYLLO_CO_ASSIGN_OR_RETURN(TransformerLease lease, backends_.AcquireTransformer());
  PHYLLO_CO_RETURN_IF_ERROR(ValidateScoreRequest(wire, lease.info()));
  ParentCall& parent = client.parent();
  const Caller caller{lease.state(), parent, backends_};
  PHYLLO_CO_ASSIGN_OR_RETURN(const ScoredTokens scored, co_await TokenizeInput(wire, caller));
  PHYLLO_CO_RETURN_IF_ERROR(CheckTokens(scored, lease.info().max_sequence_length()));
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddTokens(static_cast<int64_t>(scored.token_ids.size())));
  lease.SetTokens(static_cast<int64_t>(scored.token_ids.size()));

  PHYLLO_CO_ASSIGN_OR_RETURN(DecodeMultiplexer* const multiplexer,
                             backends_.PickDecoder(lease.state()));
  const AnswerDecoderOptions decoder_options;
  AnswerDecoder decoder(*multiplexer, parent, decoder_options);
  PromptRows rows(backends_, lease.state(), parent, scored.token_ids);
  BidiCall<transformer::v1::ScoreRequest, transformer::v1::ScoreResponse> call(
      lease.calls(), parent,
      [&](auto* context, auto* reactor) { lease.stub().async()->Score(context, reactor); });
  const transformer::v1::ScoreRequest start = MakeStart(wire, scored);
  co_await call.Write(start);  // a failure shows in the next Read

  transformer::v1::ScoreResponse event;
  while (co_await call.Read(event)) {
    if (event.has_need()) PHYLLO_CO_RETURN_IF_ERROR(co_await rows.Answer(event.need(), call));
    ScoreResponse message;
    if (event.has_chunk()) {
      message.mutable_logprobs()->Swap(event.mutable_chunk()->mutable_logprobs());
      PHYLLO_CO_RETURN_IF_ERROR(co_await AddTokenBytes(decoder, *message.mutable_logprobs()));
    } else if (event.has_finished()) {
      message = Summary(event.finished(), scored);
    } else {
      continue;
    }
    const bool sent = co_await client.Write(message);
    if (!sent) co_return absl::CancelledError("the client is gone");
  }
  const absl::Status ended = FromGrpcStatus(co_await call.Finish());
  if (absl::IsUnavailable(ended)) lease.MarkUnavailable();
  co_return BackendCallStatus(BackendKind::kTransformer, ended);
}

}  // namespace phyllo
