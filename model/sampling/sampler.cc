#include "model/sampling/sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "model/base/status_macros.h"
#include "model/sampling/philox.h"

namespace phyllo {
namespace {

// Whether the raw logits are what is drawn from; then no copy is needed.
bool ChangesLogits(const SamplingParameters& parameters, const TokenHistory& history) {
  return !parameters.logit_bias.empty() || parameters.repetition_penalty != 1.0f ||
         parameters.frequency_penalty != 0.0f || parameters.presence_penalty != 0.0f ||
         history.generated_count() < parameters.min_tokens || !parameters.allowed_token_ids.empty();
}

SampledToken Describe(absl::Span<const float> logits, const LogitsSummary& summary,
                      int32_t token_id, const SamplingParameters& parameters) {
  SampledToken token;
  token.token_id = token_id;
  token.logprob = LogProbability(logits, summary, token_id);
  token.rank = RankOf(logits, token_id);
  token.top_logprobs =
      TopLogprobs(logits, summary, std::min<int64_t>(parameters.top_logprobs, logits.size()));
  for (const int32_t id : parameters.logprob_token_ids)
    token.top_logprobs.push_back({id, LogProbability(logits, summary, id)});
  return token;
}

}  // namespace

absl::StatusOr<SampledToken> DescribeToken(absl::Span<const float> logits, int32_t token_id,
                                           const SamplingParameters& parameters) {
  PHYLLO_ASSIGN_OR_RETURN(const LogitsSummary summary, SummarizeLogits(logits));
  return Describe(logits, summary, token_id, parameters);
}

Sampler::Sampler(int64_t vocab_size) {
  processed_.reserve(vocab_size);
  scratch_.reserve(vocab_size);
  candidates_.reserve(vocab_size);
}

absl::StatusOr<SampledToken> Sampler::Sample(absl::Span<const float> logits,
                                             const TokenHistory& history,
                                             const SamplingParameters& parameters,
                                             int64_t position) {
  PHYLLO_ASSIGN_OR_RETURN(const LogitsSummary summary, SummarizeLogits(logits));
  PHYLLO_ASSIGN_OR_RETURN(const int32_t token_id,
                          ChooseToken(logits, history, parameters, position));
  return Describe(logits, summary, token_id, parameters);
}

absl::StatusOr<int32_t> Sampler::ChooseToken(absl::Span<const float> logits,
                                             const TokenHistory& history,
                                             const SamplingParameters& parameters,
                                             int64_t position) {
  absl::Span<const float> row = logits;
  if (ChangesLogits(parameters, history)) {
    processed_.assign(logits.begin(), logits.end());
    const absl::Span<float> processed = absl::MakeSpan(processed_);
    AddLogitBias(parameters.logit_bias, processed);
    if (parameters.repetition_penalty != 1.0f)
      ApplyRepetitionPenalty(history, parameters.repetition_penalty, processed);
    if (parameters.frequency_penalty != 0.0f || parameters.presence_penalty != 0.0f) {
      ApplyFrequencyAndPresencePenalty(history, parameters.frequency_penalty,
                                       parameters.presence_penalty, processed);
    }
    if (history.generated_count() < parameters.min_tokens)
      BanTokens(parameters.stop_token_ids, processed);
    if (!parameters.allowed_token_ids.empty())
      KeepOnlyTokens(parameters.allowed_token_ids, processed, scratch_);
    row = processed;
  }
  const int32_t best = ArgMax(row);
  if (row[best] == -std::numeric_limits<float>::infinity()) {
    return absl::InvalidArgumentError("allowed_token_ids and min_tokens leave no token to sample");
  }
  if (parameters.temperature == 0.0f) return best;
  SelectTopK(row, parameters.temperature,
             parameters.top_k.value_or(std::numeric_limits<int32_t>::max()), scratch_, candidates_);
  SelectTopP(parameters.top_p, candidates_);
  SelectMinP(parameters.min_p, candidates_);
  return Draw(candidates_, UniformDraw(parameters.seed, parameters.choice, position));
}

}  // namespace phyllo
