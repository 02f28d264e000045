#include "services/transformer/wire/response_conversion.h"

#include <cstdint>
#include <utility>

#include "services/common/durations.h"
#include "services/transformer/wire/request_conversion.h"

namespace phyllo {
namespace {

void ToProto(const SampledToken& token, common::v1::PositionLogprobs& proto) {
  proto.mutable_chosen()->set_token_id(token.token_id);
  proto.mutable_chosen()->set_logprob(token.logprob);
  proto.mutable_chosen()->set_rank(static_cast<int32_t>(token.rank));
  for (const TokenLogprob& top : token.top_logprobs) {
    common::v1::TokenLogprob& entry = *proto.add_top();
    entry.set_token_id(top.token_id);
    entry.set_logprob(top.logprob);
    entry.set_rank(static_cast<int32_t>(top.rank));
  }
}

void ToProto(RowRange range, transformer::v1::Need& need) {
  need.set_first_position(range.first_position);
  need.set_count(range.count);
}

common::v1::FinishReason ToProto(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEos:
      return common::v1::FINISH_REASON_EOS;
    case FinishReason::kStopToken:
      return common::v1::FINISH_REASON_STOP_TOKEN;
    case FinishReason::kLength:
    case FinishReason::kScored:
    case FinishReason::kEncoded:
      return common::v1::FINISH_REASON_LENGTH;
    case FinishReason::kContextLimit:
      return common::v1::FINISH_REASON_CONTEXT_LIMIT;
    case FinishReason::kTimeLimit:
      return common::v1::FINISH_REASON_TIME_LIMIT;
  }
  return common::v1::FINISH_REASON_UNSPECIFIED;
}

// `finished` is GenerateFinished, ScoreFinished, EncodeFinished or Prefilled.
template <typename Finished>
void SetUsageAndLatency(const SequenceResult& result, Finished& finished) {
  finished.mutable_usage()->set_prompt_token_count(result.prompt_token_count);
  finished.mutable_usage()->set_cached_prompt_token_count(result.cached_prompt_token_count);
  finished.mutable_usage()->set_generated_token_count(result.generated_token_count);
  finished.mutable_usage()->set_preemption_count(result.preemption_count);
  finished.mutable_usage()->set_drafted_token_count(result.drafted_token_count);
  finished.mutable_usage()->set_accepted_token_count(result.accepted_token_count);
  *finished.mutable_latency()->mutable_queue() = ToProtoDuration(result.queue_time);
  *finished.mutable_latency()->mutable_prefill() = ToProtoDuration(result.prefill_time);
  *finished.mutable_latency()->mutable_decode() = ToProtoDuration(result.decode_time);
}

}  // namespace

absl::StatusOr<SequenceRequest> GenerateConversation::Begin(
    const transformer::v1::GenerateStart& start) {
  with_logprobs_ = start.has_logprobs();
  return ToSequenceRequest(start);
}

void GenerateConversation::Append(SequenceNews news, std::deque<Response>& responses) {
  for (const RowRange need : news.needs) ToProto(need, *responses.emplace_back().mutable_need());
  if (news.prefill_progress) {
    transformer::v1::PrefillProgress& progress =
        *responses.emplace_back().mutable_prefill_progress();
    progress.set_done_token_count(news.prefill_progress->done_count);
    progress.set_total_token_count(news.prefill_progress->total_count);
  }
  if (!news.scored_tokens.empty()) {
    transformer::v1::PromptLogprobs& prompt = *responses.emplace_back().mutable_prompt_logprobs();
    prompt.set_first_index(news.first_scored_index);
    for (const SampledToken& token : news.scored_tokens) ToProto(token, *prompt.add_logprobs());
  }
  if (news.prefilled)
    SetUsageAndLatency(*news.prefilled, *responses.emplace_back().mutable_prefilled());
  if (!news.tokens.empty()) {
    transformer::v1::Tokens& tokens = *responses.emplace_back().mutable_tokens();
    tokens.set_first_index(news.first_token_index);
    tokens.set_preemption_count(news.counts.preemption_count);
    tokens.set_drafted_token_count(news.counts.drafted_token_count);
    tokens.set_accepted_token_count(news.counts.accepted_token_count);
    for (const SampledToken& token : news.tokens) {
      tokens.add_token_ids(token.token_id);
      if (with_logprobs_) ToProto(token, *tokens.add_logprobs());
    }
  }
  if (news.result && news.result->status.ok()) {
    transformer::v1::GenerateFinished& finished = *responses.emplace_back().mutable_finished();
    finished.set_finish_reason(ToProto(news.result->finish_reason));
    SetUsageAndLatency(*news.result, finished);
  }
}

absl::StatusOr<SequenceRequest> ScoreConversation::Begin(const transformer::v1::ScoreStart& start) {
  return ToSequenceRequest(start);
}

void ScoreConversation::Append(SequenceNews news, std::deque<Response>& responses) {
  for (const RowRange need : news.needs) ToProto(need, *responses.emplace_back().mutable_need());
  if (!news.scored_tokens.empty()) {
    transformer::v1::ScoreChunk& chunk = *responses.emplace_back().mutable_chunk();
    chunk.set_first_index(news.first_scored_index);
    for (const SampledToken& token : news.scored_tokens) {
      ToProto(token, *chunk.add_logprobs());
      total_logprob_ += token.logprob;
    }
  }
  if (news.result && news.result->status.ok()) {
    transformer::v1::ScoreFinished& finished = *responses.emplace_back().mutable_finished();
    finished.set_total_logprob(total_logprob_);
    SetUsageAndLatency(*news.result, finished);
  }
}

absl::StatusOr<SequenceRequest> EncodeConversation::Begin(
    const transformer::v1::EncodeStart& start) {
  keeps_rows_ = start.pooling() == common::v1::POOLING_NONE;
  return ToSequenceRequest(start);
}

void EncodeConversation::Append(SequenceNews news, std::deque<Response>& responses) {
  for (const RowRange need : news.needs) ToProto(need, *responses.emplace_back().mutable_need());
  if (!news.result || !news.result->status.ok() || !news.result->encoding) return;
  const SequenceEncoding& encoding = *news.result->encoding;
  transformer::v1::EncodeFinished& finished = *responses.emplace_back().mutable_finished();
  common::v1::Tensor& output = *finished.mutable_output();
  output.set_data_type(common::v1::DATA_TYPE_F32);
  if (keeps_rows_) output.add_shape(encoding.rows);
  output.add_shape(encoding.cols);
  output.set_data(encoding.values.data(), encoding.values.size() * sizeof(float));
  finished.set_is_labels(encoding.is_labels);
  SetUsageAndLatency(*news.result, finished);
}

}  // namespace phyllo
