#include "model/sampling/sampling_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

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

absl::Status CheckNumbers(const SamplingParameters& parameters) {
  PHYLLO_RETURN_IF_ERROR(CheckRange("temperature", parameters.temperature, 0.0f, kMaxTemperature));
  if (parameters.top_k.has_value() && *parameters.top_k < 1)
    return OutOfRange("top_k", absl::StrCat(*parameters.top_k), "[1, 2^31)");
  PHYLLO_RETURN_IF_ERROR(CheckRangeAbove("top_p", parameters.top_p, 0.0f, 1.0f));
  PHYLLO_RETURN_IF_ERROR(CheckRange("min_p", parameters.min_p, 0.0f, 1.0f));
  PHYLLO_RETURN_IF_ERROR(CheckRangeAbove("repetition_penalty", parameters.repetition_penalty, 0.0f,
                                         kMaxRepetitionPenalty));
  PHYLLO_RETURN_IF_ERROR(CheckRange("frequency_penalty", parameters.frequency_penalty,
                                    -kMaxAdditivePenalty, kMaxAdditivePenalty));
  PHYLLO_RETURN_IF_ERROR(CheckRange("presence_penalty", parameters.presence_penalty,
                                    -kMaxAdditivePenalty, kMaxAdditivePenalty));
  if (parameters.min_tokens < 0)
    return OutOfRange("min_tokens", absl::StrCat(parameters.min_tokens), "[0, 2^31)");
  if (parameters.choice < 0)
    return OutOfRange("choice", absl::StrCat(parameters.choice), "[0, 2^31)");
  if (parameters.top_logprobs < 0 || parameters.top_logprobs > kMaxTopLogprobs) {
    return OutOfRange("top_logprobs", absl::StrCat(parameters.top_logprobs),
                      absl::StrCat("[0, ", kMaxTopLogprobs, "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckLogitBias(const SamplingParameters& parameters, int64_t vocab_size) {
  if (static_cast<int64_t>(parameters.logit_bias.size()) > kMaxLogitBiasCount) {
    return OutOfRange("the number of logit_bias entries",
                      absl::StrCat(parameters.logit_bias.size()),
                      absl::StrCat("[0, ", kMaxLogitBiasCount, "]"));
  }
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

// Before min_tokens the stop ids are banned; something must remain.
absl::Status CheckSomethingRemains(const SamplingParameters& parameters, int64_t vocab_size) {
  if (parameters.min_tokens == 0) return absl::OkStatus();
  const absl::flat_hash_set<int32_t> banned(parameters.stop_token_ids.begin(),
                                            parameters.stop_token_ids.end());
  const auto& allowed = parameters.allowed_token_ids;
  const bool remains = allowed.empty()
                           ? static_cast<int64_t>(banned.size()) < vocab_size
                           : std::any_of(allowed.begin(), allowed.end(),
                                         [&](int32_t id) { return !banned.contains(id); });
  if (remains) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("min_tokens is ", parameters.min_tokens,
                   ", but every allowed token id is a stop token id, banned until then"));
}

}  // namespace

absl::Status ValidateSamplingParameters(const SamplingParameters& parameters, int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckNumbers(parameters));
  PHYLLO_RETURN_IF_ERROR(CheckLogitBias(parameters, vocab_size));
  for (const int32_t token_id : parameters.allowed_token_ids) {
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("allowed_token_ids", token_id, vocab_size));
  }
  for (const int32_t token_id : parameters.stop_token_ids) {
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("stop_token_ids", token_id, vocab_size));
  }
  if (static_cast<int64_t>(parameters.logprob_token_ids.size()) > kMaxTopLogprobs) {
    return OutOfRange("the number of logprob_token_ids",
                      absl::StrCat(parameters.logprob_token_ids.size()),
                      absl::StrCat("[0, ", kMaxTopLogprobs, "]"));
  }
  for (const int32_t token_id : parameters.logprob_token_ids) {
    PHYLLO_RETURN_IF_ERROR(CheckTokenId("logprob_token_ids", token_id, vocab_size));
  }
  return CheckSomethingRemains(parameters, vocab_size);
}

}  // namespace phyllo
