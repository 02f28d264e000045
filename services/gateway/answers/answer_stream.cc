#include "services/gateway/answers/answer_stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "services/common/durations.h"
#include "services/gateway/answers/logprob_tokens.h"

namespace phyllo {
namespace {

using common::v1::PositionLogprobs;
using google::protobuf::RepeatedPtrField;

// Enough ids to decide on spaces and to complete a character that the prompt has begun.
constexpr size_t kPromptTailTokens = 32;

AnswerDecoderOptions DecoderOptions(const GenerationRequest& request, const Prompt& prompt) {
  AnswerDecoderOptions options;
  options.skip_special_tokens = !request.wire->output().special_tokens();
  const size_t tail =
      request.wire->has_hidden_states() ? 0 : std::min(prompt.token_ids.size(), kPromptTailTokens);
  options.prompt_tail_token_ids.assign(prompt.token_ids.end() - tail, prompt.token_ids.end());
  options.stop_sequences = request.stop_sequences;
  options.include_stop_sequence = request.wire->include_stop_sequence();
  return options;
}

}  // namespace

AnswerStream::AnswerStream(const AnswerStreamOptions& options, DecodeMultiplexer& decoder,
                           ParentCall& parent)
    : options_(options),
      decoder_(decoder, parent, DecoderOptions(options.request, options.prompt)) {}

Task<absl::Status> AnswerStream::Begin() {
  if (!options_.request.wire->output().echo_prompt()) co_return absl::OkStatus();
  gateway::v1::Delta delta;
  delta.set_text(options_.prompt.text);
  co_return co_await SendDelta(std::move(delta));
}

Task<absl::Status> AnswerStream::AddTokens(const transformer::v1::Tokens& tokens) {
  GenerationTrace& trace = options_.trace;
  const absl::Duration now = trace.since_arrival.Elapsed();
  std::optional<absl::Duration> gap;
  if (trace.time_to_last_token.has_value()) gap = now - *trace.time_to_last_token;
  if (!trace.time_to_first_token.has_value()) trace.time_to_first_token = now;
  trace.time_to_last_token = now;
  trace.generated_token_count += tokens.token_ids_size();
  options_.metrics.CountTokens(tokens.token_ids_size(), gap);
  // A stop sequence may end the answer before the transformer says how it ended.
  common::v1::Usage& usage = *transformer_finished_.mutable_usage();
  usage.set_preemption_count(tokens.preemption_count());
  usage.set_drafted_token_count(tokens.drafted_token_count());
  usage.set_accepted_token_count(tokens.accepted_token_count());

  pending_.mutable_token_ids()->MergeFrom(tokens.token_ids());
  if (WantsLogprobs()) pending_.mutable_logprobs()->MergeFrom(tokens.logprobs());
  if (pending_.token_ids_size() < options_.request.stream_interval) co_return absl::OkStatus();
  co_return co_await Flush();
}

Task<absl::Status> AnswerStream::AddProgress(const transformer::v1::PrefillProgress& progress) {
  if (!options_.request.wire->output().prefill_progress()) co_return absl::OkStatus();
  gateway::v1::GenerateResponse message;
  message.mutable_prefill_progress()->set_done_token_count(progress.done_token_count());
  message.mutable_prefill_progress()->set_total_token_count(progress.total_token_count());
  co_return co_await options_.sink.Send(std::move(message));
}

Task<absl::Status> AnswerStream::AddPromptLogprobs(transformer::v1::PromptLogprobs logprobs) {
  const std::vector<int32_t> token_ids = TokenIdsOf(logprobs.logprobs());
  PHYLLO_CO_ASSIGN_OR_RETURN(DecodedTokens decoded, co_await decoder_.Append({}, token_ids));
  FillTokens(std::move(decoded.lookup_tokens), *logprobs.mutable_logprobs());
  for (PositionLogprobs& position : *logprobs.mutable_logprobs())
    prompt_logprobs_.Add()->Swap(&position);
  co_return absl::OkStatus();
}

void AnswerStream::SetPrefilled(const transformer::v1::Prefilled& prefilled) {
  *transformer_finished_.mutable_usage() = prefilled.usage();
  *transformer_finished_.mutable_latency() = prefilled.latency();
}

Task<absl::Status> AnswerStream::End(const transformer::v1::GenerateFinished& finished) {
  if (!pending_.token_ids().empty()) PHYLLO_CO_RETURN_IF_ERROR(co_await Flush());
  // What came last may have completed a stop sequence: then that is how the answer ends.
  if (ended_) co_return absl::OkStatus();
  ended_ = true;
  transformer_finished_ = finished;
  gateway::v1::Delta rest;
  PHYLLO_CO_ASSIGN_OR_RETURN(*rest.mutable_text(), co_await decoder_.Finish());
  co_return co_await SendDelta(std::move(rest));
}

Task<absl::Status> AnswerStream::SendFinished(const gateway::v1::ResolvedParameters& resolved) {
  GenerationTrace& trace = options_.trace;
  gateway::v1::GenerateResponse message;
  gateway::v1::Finished& finished = *message.mutable_finished();
  finished.set_finish_reason(transformer_finished_.finish_reason());
  if (decoder_.stopped().has_value()) {
    finished.set_finish_reason(common::v1::FINISH_REASON_STOP_SEQUENCE);
    finished.set_stop_sequence(options_.request.stop_sequences[*decoder_.stopped()]);
  } else if (stop_token_id_.has_value()) {
    finished.set_stop_token_id(*stop_token_id_);
  } else if (options_.request.ends_with_context &&
             finished.finish_reason() == common::v1::FINISH_REASON_LENGTH) {
    // Nobody asked for that many tokens: it is all that the context leaves.
    finished.set_finish_reason(common::v1::FINISH_REASON_CONTEXT_LIMIT);
  }
  trace.finish_reason = finished.finish_reason();

  common::v1::Usage& usage = *finished.mutable_usage() = transformer_finished_.usage();
  usage.set_prompt_token_count(trace.prompt_token_count);
  usage.set_generated_token_count(trace.generated_token_count);
  usage.set_truncated_token_count(trace.truncated_token_count);

  // Queue, prefill and decode as the transformer measured them. When a stop sequence ends the
  // answer it is not asked any more: decode is then what was seen from here.
  common::v1::LatencyBreakdown& latency = *finished.mutable_latency() =
      transformer_finished_.latency();
  *latency.mutable_tokenize() = ToProtoDuration(trace.tokenize_time);
  *latency.mutable_embed() = ToProtoDuration(trace.embed_time);
  if (trace.time_to_first_token.has_value()) {
    *latency.mutable_time_to_first_token() = ToProtoDuration(*trace.time_to_first_token);
    if (decoder_.stopped().has_value())
      *latency.mutable_decode() =
          ToProtoDuration(*trace.time_to_last_token - *trace.time_to_first_token);
  }
  *latency.mutable_total() = ToProtoDuration(trace.since_arrival.Elapsed());
  *finished.mutable_resolved() = resolved;
  finished.mutable_prompt_logprobs()->Swap(&prompt_logprobs_);
  co_return co_await options_.sink.Send(std::move(message));
}

// Decodes what is pending and sends it.
Task<absl::Status> AnswerStream::Flush() {
  gateway::v1::Delta delta = std::exchange(pending_, {});
  absl::Span<const int32_t> text_ids = delta.token_ids();
  // The id that ends the answer counts as generated and is not part of its text.
  if (options_.request.stop_token_ids.contains(text_ids.back())) {
    stop_token_id_ = text_ids.back();
    text_ids.remove_suffix(1);
  }
  const std::vector<int32_t> lookup_ids = TokenIdsOf(delta.logprobs());
  PHYLLO_CO_ASSIGN_OR_RETURN(DecodedTokens decoded, co_await decoder_.Append(text_ids, lookup_ids));
  FillTokens(std::move(decoded.lookup_tokens), *delta.mutable_logprobs());
  if (decoder_.stopped().has_value()) {
    // What the transformer generated beyond the stop is not part of the answer.
    const auto used = static_cast<int>(decoded.used_count);
    options_.trace.generated_token_count -= delta.token_ids_size() - used;
    delta.mutable_token_ids()->Truncate(used);
    if (delta.logprobs_size() > used)
      delta.mutable_logprobs()->DeleteSubrange(used, delta.logprobs_size() - used);
    stop_token_id_.reset();
    ended_ = true;
  }
  delta.set_text(std::move(decoded.text));
  if (!options_.request.wire->output().token_ids()) delta.clear_token_ids();
  co_return co_await SendDelta(std::move(delta));
}

Task<absl::Status> AnswerStream::SendDelta(gateway::v1::Delta delta) {
  if (delta.text().empty() && delta.token_ids().empty() && delta.logprobs().empty())
    co_return absl::OkStatus();
  gateway::v1::GenerateResponse message;
  message.mutable_delta()->Swap(&delta);
  co_return co_await options_.sink.Send(std::move(message));
}

}  // namespace phyllo
