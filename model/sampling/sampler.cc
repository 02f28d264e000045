#include "model/sampling/sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "model/base/status_macros.h"
#include "model/sampling/logits_processors.h"
#include "model/sampling/philox.h"

namespace phyllo {
namespace {

// Whether the raw logits are what is drawn from; then no copy is needed.
bool ChangesLogits(const SamplingParameters& parameters, const TokenHistory& history) {
  return !parameters.logit_bias.empty() || parameters.repetition_penalty != 1.0f ||
         parameters.frequency_penalty != 0.0f || parameters.presence_penalty != 0.0f ||
         parameters.dry.has_value() || parameters.no_repeat_ngram_size.has_value() ||
         !parameters.banned_sequences.empty() ||
         history.generated_count() < parameters.min_tokens || !parameters.allowed_token_ids.empty();
}

absl::Status NothingToSample() {
  return absl::InvalidArgumentError("the bans and allowed_token_ids leave no token to sample");
}

}  // namespace

bool TakesLargest(const SamplingParameters& parameters, const TokenHistory& history) {
  return parameters.temperature == 0.0f && !parameters.WantsLogprobs() &&
         !ChangesLogits(parameters, history);
}

absl::StatusOr<SampledToken> TakeLargest(const LargestLogit& largest) {
  if (!largest.finite)
    return absl::InternalError("a logit is not finite; the model's output is not finite");
  SampledToken token;
  token.token_id = largest.token_id;
  return token;
}

absl::StatusOr<SampledToken> DescribeToken(absl::Span<const float> logits, int32_t token_id,
                                           const SamplingParameters& parameters) {
  PHYLLO_ASSIGN_OR_RETURN(const LogitsSummary summary, SummarizeLogits(logits));
  SampledToken token;
  token.token_id = token_id;
  token.logprob = LogProbability(logits, summary, token_id);
  token.rank = RankOf(logits, token_id);
  token.top_logprobs =
      TopLogprobs(logits, summary, std::min<int64_t>(parameters.top_logprobs, logits.size()));
  for (const int32_t id : parameters.logprob_token_ids)
    token.top_logprobs.push_back({id, LogProbability(logits, summary, id), RankOf(logits, id)});
  return token;
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
  PHYLLO_RETURN_IF_ERROR(CheckFinite(logits));
  PHYLLO_ASSIGN_OR_RETURN(const absl::Span<const Candidate> candidates,
                          SelectCandidates(logits, history, parameters, position));
  const int32_t token_id =
      candidates.size() == 1
          ? candidates[0].token_id
          : Draw(candidates, UniformDraw(parameters.seed, parameters.choice, position));
  if (parameters.WantsLogprobs()) return DescribeToken(logits, token_id, parameters);
  SampledToken token;
  token.token_id = token_id;
  return token;
}

absl::StatusOr<absl::Span<const Candidate>> Sampler::SelectCandidates(
    absl::Span<const float> logits, const TokenHistory& history,
    const SamplingParameters& parameters, int64_t position) {
  const absl::Span<const float> row = Process(logits, history, parameters);
  if (parameters.temperature == 0.0f) {
    const int32_t best = ArgMax(row);
    if (row[best] == kBannedLogit) return NothingToSample();
    candidates_.assign(1, {best, 1.0f});
    return candidates_;
  }
  SelectTopK(row, parameters.temperature,
             parameters.top_k.value_or(std::numeric_limits<int32_t>::max()), scratch_, candidates_);
  if (candidates_.empty()) return NothingToSample();
  SelectTopP(parameters.top_p, candidates_);
  SelectMinP(parameters.min_p, candidates_);
  SelectTypicalP(parameters.typical_p, scratch_, candidates_);
  if (parameters.top_n_sigma) {
    const double sigma = StandardDeviation(row) / static_cast<double>(parameters.temperature);
    SelectTopNSigma(*parameters.top_n_sigma, sigma, candidates_);
  }
  if (parameters.xtc && UniformDraw(parameters.seed, parameters.choice, position,
                                    DrawPurpose::kXtc) < parameters.xtc->probability)
    SelectXtc(parameters.xtc->threshold, candidates_);
  return candidates_;
}

absl::Span<const float> Sampler::Process(absl::Span<const float> logits,
                                         const TokenHistory& history,
                                         const SamplingParameters& parameters) {
  if (!ChangesLogits(parameters, history)) return logits;
  processed_.assign(logits.begin(), logits.end());
  const absl::Span<float> processed = absl::MakeSpan(processed_);
  AddLogitBias(parameters.logit_bias, processed);
  if (parameters.repetition_penalty != 1.0f)
    ApplyRepetitionPenalty(history, parameters.repetition_penalty, processed);
  if (parameters.frequency_penalty != 0.0f || parameters.presence_penalty != 0.0f) {
    ApplyFrequencyAndPresencePenalty(history, parameters.frequency_penalty,
                                     parameters.presence_penalty, processed);
  }
  if (parameters.dry) ApplyDry(history.token_ids(), *parameters.dry, history_scratch_, processed);
  if (parameters.no_repeat_ngram_size) {
    BanRepeatedNgrams(history.token_ids(), *parameters.no_repeat_ngram_size, history_scratch_,
                      processed);
  }
  BanSequences(history.token_ids(), parameters.banned_sequences, processed);
  if (history.generated_count() < parameters.min_tokens)
    BanTokens(parameters.stop_token_ids, processed);
  if (!parameters.allowed_token_ids.empty())
    KeepOnlyTokens(parameters.allowed_token_ids, processed, scratch_);
  return processed;
}

}  // namespace phyllo
