#include "model/sampling/sampling_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

absl::Status OutOfRange(absl::string_view name, const std::string& value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, ", must be in ", range));
}

// `value` is in [low, high]; NaN is not.
absl::Status CheckRange(absl::string_view name, float value, float low, float high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return OutOfRange(name, absl::StrCat(value), absl::StrCat("[", low, ", ", high, "]"));
}

// As CheckRange, without `low` itself.
absl::Status CheckRangeAbove(absl::string_view name, float value, float low, float high) {
  if (value > low && value <= high) return absl::OkStatus();
  return OutOfRange(name, absl::StrCat(value), absl::StrCat("(", low, ", ", high, "]"));
}

absl::Status CheckTokenId(absl::string_view name, int32_t token_id, int64_t vocab_size) {
  if (token_id >= 0 && token_id < vocab_size) return absl::OkStatus();
  return OutOfRange(absl::StrCat("a token id of ", name), absl::StrCat(token_id),
                    absl::StrCat("[0, ", vocab_size, ")"));
}

// As CheckRange for what is at least 1 if it is there.
absl::Status CheckPositive(absl::string_view name, std::optional<int32_t> value) {
  if (!value || *value >= 1) return absl::OkStatus();
  return OutOfRange(name, absl::StrCat(*value), "[1, 2^31)");
}

absl::Status CheckNotNegative(absl::string_view name, int32_t value) {
  return value >= 0 ? absl::OkStatus() : OutOfRange(name, absl::StrCat(value), "[0, 2^31)");
}

absl::Status CheckCount(absl::string_view name, int64_t count, int64_t low, int64_t high) {
  if (count >= low && count <= high) return absl::OkStatus();
  return OutOfRange(absl::StrCat("the number of ", name), absl::StrCat(count),
                    absl::StrCat("[", low, ", ", high, "]"));
}

// What chooses the candidates.
absl::Status CheckSelection(const SamplingParameters& parameters) {
  PHYLLO_RETURN_IF_ERROR(CheckRange("temperature", parameters.temperature, 0.0f, kMaxTemperature));
  PHYLLO_RETURN_IF_ERROR(CheckPositive("top_k", parameters.top_k));
  PHYLLO_RETURN_IF_ERROR(CheckRangeAbove("top_p", parameters.top_p, 0.0f, 1.0f));
  PHYLLO_RETURN_IF_ERROR(CheckRange("min_p", parameters.min_p, 0.0f, 1.0f));
  PHYLLO_RETURN_IF_ERROR(CheckRangeAbove("typical_p", parameters.typical_p, 0.0f, 1.0f));
  PHYLLO_RETURN_IF_ERROR(
      CheckRangeAbove("top_n_sigma", parameters.top_n_sigma.value_or(1.0f), 0.0f, kMaxTopNSigma));
  if (!parameters.xtc) return absl::OkStatus();
  PHYLLO_RETURN_IF_ERROR(CheckRange("xtc.probability", parameters.xtc->probability, 0.0f, 1.0f));
  return CheckRange("xtc.threshold", parameters.xtc->threshold, 0.0f, kMaxXtcThreshold);
}

// What changes logits by earlier tokens.
absl::Status CheckPenalties(const SamplingParameters& parameters, int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckRangeAbove("repetition_penalty", parameters.repetition_penalty, 0.0f,
                                         kMaxRepetitionPenalty));
  PHYLLO_RETURN_IF_ERROR(CheckRange("frequency_penalty", parameters.frequency_penalty,
                                    -kMaxAdditivePenalty, kMaxAdditivePenalty));
  PHYLLO_RETURN_IF_ERROR(CheckRange("presence_penalty", parameters.presence_penalty,
                                    -kMaxAdditivePenalty, kMaxAdditivePenalty));
  PHYLLO_RETURN_IF_ERROR(CheckPositive("penalty_window", parameters.penalty_window));
  PHYLLO_RETURN_IF_ERROR(CheckPositive("no_repeat_ngram_size", parameters.no_repeat_ngram_size));
  if (!parameters.dry) return absl::OkStatus();
  const DryParameters& dry = *parameters.dry;
  PHYLLO_RETURN_IF_ERROR(
      CheckRangeAbove("dry.multiplier", dry.multiplier, 0.0f, kMaxDryMultiplier));
  PHYLLO_RETURN_IF_ERROR(CheckRange("dry.base", dry.base, 1.0f, kMaxDryBase));
  PHYLLO_RETURN_IF_ERROR(CheckNotNegative("dry.allowed_length", dry.allowed_length));
  PHYLLO_RETURN_IF_ERROR(CheckCount("dry.breaker_token_ids",
                                    static_cast<int64_t>(dry.breaker_token_ids.size()), 0,
                                    kMaxDryBreakerCount));
  for (const int32_t token_id : dry.breaker_token_ids)
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("dry.breaker_token_ids", token_id, vocab_size));
  return absl::OkStatus();
}

absl::Status CheckBannedSequences(const SamplingParameters& parameters, int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckCount("banned_sequences",
                                    static_cast<int64_t>(parameters.banned_sequences.size()), 0,
                                    kMaxBannedSequenceCount));
  for (const std::vector<int32_t>& sequence : parameters.banned_sequences) {
    PHYLLO_RETURN_IF_ERROR(CheckCount("ids in one of banned_sequences",
                                      static_cast<int64_t>(sequence.size()), 1,
                                      kMaxBannedSequenceLength));
    for (const int32_t token_id : sequence)
      PHYLLO_RETURN_IF_ERROR(CheckTokenId("banned_sequences", token_id, vocab_size));
  }
  return absl::OkStatus();
}

absl::Status CheckLogprobs(const SamplingParameters& parameters, int64_t vocab_size) {
  if (parameters.top_logprobs < 0 || parameters.top_logprobs > kMaxTopLogprobs) {
    return OutOfRange("top_logprobs", absl::StrCat(parameters.top_logprobs),
                      absl::StrCat("[0, ", kMaxTopLogprobs, "]"));
  }
  PHYLLO_RETURN_IF_ERROR(CheckCount("logprob_token_ids",
                                    static_cast<int64_t>(parameters.logprob_token_ids.size()), 0,
                                    kMaxTopLogprobs));
  for (const int32_t token_id : parameters.logprob_token_ids)
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("logprob_token_ids", token_id, vocab_size));
  return absl::OkStatus();
}

absl::Status CheckLogitBias(const SamplingParameters& parameters, int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckCount("logit_bias entries",
                                    static_cast<int64_t>(parameters.logit_bias.size()), 0,
                                    kMaxLogitBiasCount));
  absl::flat_hash_set<int32_t> seen;
  for (const auto& [token_id, bias] : parameters.logit_bias) {
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("logit_bias", token_id, vocab_size));
    PHYLLO_RETURN_IF_ERROR(
        CheckRange("a value of logit_bias", bias, -kMaxLogitBias, kMaxLogitBias));
    if (!seen.insert(token_id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("logit_bias names token id ", token_id, " twice"));
    }
  }
  return absl::OkStatus();
}

// Single ids may be banned, stop ids until min_tokens; something must remain.
absl::Status CheckSomethingRemains(const SamplingParameters& parameters, int64_t vocab_size) {
  absl::flat_hash_set<int32_t> banned;
  if (parameters.min_tokens > 0)
    banned.insert(parameters.stop_token_ids.begin(), parameters.stop_token_ids.end());
  for (const std::vector<int32_t>& sequence : parameters.banned_sequences) {
    if (sequence.size() == 1) banned.insert(sequence[0]);
  }
  const auto& allowed = parameters.allowed_token_ids;
  const bool remains = allowed.empty()
                           ? static_cast<int64_t>(banned.size()) < vocab_size
                           : std::any_of(allowed.begin(), allowed.end(),
                                         [&](int32_t id) { return !banned.contains(id); });
  if (remains) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "min_tokens is ", parameters.min_tokens,
      ", but every allowed token id is banned, or a stop token id, banned until then"));
}

}  // namespace

absl::Status ValidateSamplingParameters(const SamplingParameters& parameters, int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckSelection(parameters));
  PHYLLO_RETURN_IF_ERROR(CheckPenalties(parameters, vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckNotNegative("min_tokens", parameters.min_tokens));
  PHYLLO_RETURN_IF_ERROR(CheckNotNegative("choice", parameters.choice));
  PHYLLO_RETURN_IF_ERROR(CheckLogitBias(parameters, vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckBannedSequences(parameters, vocab_size));
  for (const int32_t token_id : parameters.allowed_token_ids)
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("allowed_token_ids", token_id, vocab_size));
  for (const int32_t token_id : parameters.stop_token_ids)
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("stop_token_ids", token_id, vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckLogprobs(parameters, vocab_size));
  return CheckSomethingRemains(parameters, vocab_size);
}

}  // namespace phyllo
