#include "services/gateway/requests/parameter_checks.h"

#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "model/base/status_macros.h"
#include "model/sampling/sampling_parameters.h"
#include "services/common/durations.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxNameLength = 128;
constexpr size_t kMaxSaltBytes = 64;

// One number with its range; the lower end is excluded where `low_is_open`.
struct NumberCheck {
  absl::string_view field;
  bool is_set;
  float value;
  float low;
  float high;
  bool low_is_open = false;
};

absl::Status CheckNumber(const NumberCheck& check) {
  // Written so that NaN fails.
  const bool above = check.low_is_open ? check.value > check.low : check.value >= check.low;
  if (!check.is_set || (above && check.value <= check.high)) return absl::OkStatus();
  return InvalidField(
      check.field, absl::StrCat("is ", check.value, "; must be in ", check.low_is_open ? "(" : "[",
                                check.low, ", ", check.high, "]"));
}

absl::Status CheckSize(absl::string_view field, int64_t size, int64_t low, int64_t high) {
  if (size >= low && size <= high) return absl::OkStatus();
  return InvalidField(field,
                      absl::StrCat("has ", size, " elements; must have ", low, " to ", high));
}

absl::Status CheckLogitBias(const common::v1::SamplingParameters& sampling, int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckSize("sampling.logit_bias",
                                   static_cast<int64_t>(sampling.logit_bias().size()), 0,
                                   kMaxLogitBiasCount));
  for (const auto& [token_id, bias] : sampling.logit_bias()) {
    const std::string field = absl::StrCat("sampling.logit_bias[", token_id, "]");
    PHYLLO_RETURN_IF_ERROR(CheckTokenIds(field, {token_id}, vocab_size));
    PHYLLO_RETURN_IF_ERROR(CheckNumber({field, true, bias, -kMaxLogitBias, kMaxLogitBias}));
  }
  return absl::OkStatus();
}

absl::Status CheckBannedSequences(const common::v1::SamplingParameters& sampling,
                                  int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckSize("sampling.banned_token_sequences",
                                   sampling.banned_token_sequences_size(), 0,
                                   kMaxBannedSequenceCount));
  for (int i = 0; i < sampling.banned_token_sequences_size(); ++i) {
    const auto& token_ids = sampling.banned_token_sequences(i).token_ids();
    const std::string field = absl::StrCat("sampling.banned_token_sequences[", i, "]");
    PHYLLO_RETURN_IF_ERROR(CheckSize(field, token_ids.size(), 1, kMaxBannedSequenceLength));
    PHYLLO_RETURN_IF_ERROR(CheckTokenIds(field, token_ids, vocab_size));
  }
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view field, const std::string& name) {
  if (name.size() > kMaxNameLength) {
    return InvalidField(field,
                        absl::StrCat("has ", name.size(), " characters; at most ", kMaxNameLength));
  }
  for (const char c : name) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c)))
      return InvalidField(field, "must be printable ASCII");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckInteger(absl::string_view field, bool is_set, int64_t value, int64_t low,
                          int64_t high) {
  if (!is_set || (value >= low && value <= high)) return absl::OkStatus();
  return InvalidField(field, absl::StrCat("is ", value, "; must be in [", low, ", ", high, "]"));
}

absl::Status CheckTokenIds(absl::string_view field, absl::Span<const int32_t> token_ids,
                           int64_t vocab_size) {
  for (const int32_t token_id : token_ids) {
    if (token_id < 0 || token_id >= vocab_size) {
      return InvalidField(field, absl::StrCat("the id ", token_id,
                                              " is outside the vocabulary [0, ", vocab_size, ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSampling(const common::v1::SamplingParameters& sampling, int64_t vocab_size) {
  const common::v1::DryParameters& dry = sampling.dry();
  const common::v1::XtcParameters& xtc = sampling.xtc();
  const NumberCheck checks[] = {
      {"sampling.temperature", sampling.has_temperature(), sampling.temperature(), 0,
       kMaxTemperature},
      {"sampling.top_p", sampling.has_top_p(), sampling.top_p(), 0, 1, true},
      {"sampling.min_p", sampling.has_min_p(), sampling.min_p(), 0, 1},
      {"sampling.typical_p", sampling.has_typical_p(), sampling.typical_p(), 0, 1, true},
      {"sampling.top_n_sigma", sampling.has_top_n_sigma(), sampling.top_n_sigma(), 0, kMaxTopNSigma,
       true},
      {"sampling.repetition_penalty", sampling.has_repetition_penalty(),
       sampling.repetition_penalty(), 0, kMaxRepetitionPenalty, true},
      {"sampling.frequency_penalty", sampling.has_frequency_penalty(), sampling.frequency_penalty(),
       -kMaxAdditivePenalty, kMaxAdditivePenalty},
      {"sampling.presence_penalty", sampling.has_presence_penalty(), sampling.presence_penalty(),
       -kMaxAdditivePenalty, kMaxAdditivePenalty},
      {"sampling.dry.multiplier", sampling.has_dry(), dry.multiplier(), 0, kMaxDryMultiplier, true},
      {"sampling.dry.base", dry.has_base(), dry.base(), 1, kMaxDryBase},
      {"sampling.xtc.probability", sampling.has_xtc(), xtc.probability(), 0, 1},
      {"sampling.xtc.threshold", sampling.has_xtc(), xtc.threshold(), 0, kMaxXtcThreshold},
  };
  for (const NumberCheck& check : checks) PHYLLO_RETURN_IF_ERROR(CheckNumber(check));
  PHYLLO_RETURN_IF_ERROR(
      CheckInteger("sampling.top_k", sampling.has_top_k(), sampling.top_k(), 1, kMaxInt32));
  PHYLLO_RETURN_IF_ERROR(CheckInteger("sampling.penalty_window", sampling.has_penalty_window(),
                                      sampling.penalty_window(), 1, kMaxInt32));
  PHYLLO_RETURN_IF_ERROR(CheckInteger("sampling.no_repeat_ngram_size",
                                      sampling.has_no_repeat_ngram_size(),
                                      sampling.no_repeat_ngram_size(), 1, kMaxInt32));
  PHYLLO_RETURN_IF_ERROR(CheckInteger("sampling.dry.allowed_length", dry.has_allowed_length(),
                                      dry.allowed_length(), 0, kMaxInt32));
  PHYLLO_RETURN_IF_ERROR(CheckSize("sampling.dry.breaker_token_ids", dry.breaker_token_ids_size(),
                                   0, kMaxDryBreakerCount));
  PHYLLO_RETURN_IF_ERROR(
      CheckTokenIds("sampling.dry.breaker_token_ids", dry.breaker_token_ids(), vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckLogitBias(sampling, vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckBannedSequences(sampling, vocab_size));
  return CheckTokenIds("sampling.allowed_token_ids", sampling.allowed_token_ids(), vocab_size);
}

absl::Status CheckStopping(const common::v1::StoppingParameters& stopping, int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckInteger("stopping.max_new_tokens", stopping.has_max_new_tokens(),
                                      stopping.max_new_tokens(), 1, kMaxInt32));
  PHYLLO_RETURN_IF_ERROR(CheckInteger("stopping.min_new_tokens", stopping.has_min_new_tokens(),
                                      stopping.min_new_tokens(), 0, kMaxInt32));
  if (stopping.has_time_limit() &&
      FromProtoDuration(stopping.time_limit()) <= absl::ZeroDuration()) {
    return InvalidField("stopping.time_limit", "must be greater than 0");
  }
  return CheckTokenIds("stopping.stop_token_ids", stopping.stop_token_ids(), vocab_size);
}

absl::Status CheckLogprobs(absl::string_view field, const common::v1::LogprobParameters& logprobs,
                           int64_t vocab_size) {
  PHYLLO_RETURN_IF_ERROR(CheckInteger(absl::StrCat(field, ".top_count"), true, logprobs.top_count(),
                                      0, kMaxTopLogprobs));
  PHYLLO_RETURN_IF_ERROR(
      CheckSize(absl::StrCat(field, ".token_ids"), logprobs.token_ids_size(), 0, kMaxTopLogprobs));
  return CheckTokenIds(absl::StrCat(field, ".token_ids"), logprobs.token_ids(), vocab_size);
}

absl::Status CheckContext(const common::v1::RequestContext& context) {
  PHYLLO_RETURN_IF_ERROR(CheckName("context.request_id", context.request_id()));
  PHYLLO_RETURN_IF_ERROR(CheckName("context.tenant", context.tenant()));
  PHYLLO_RETURN_IF_ERROR(
      CheckInteger("context.priority", context.has_priority(), context.priority(), -100, 100));
  PHYLLO_RETURN_IF_ERROR(CheckInteger("context.expected_new_token_count",
                                      context.has_expected_new_token_count(),
                                      context.expected_new_token_count(), 1, kMaxInt32));
  if (context.prefix_cache_salt().size() > kMaxSaltBytes) {
    return InvalidField("context.prefix_cache_salt",
                        absl::StrCat("has ", context.prefix_cache_salt().size(), " bytes; at most ",
                                     kMaxSaltBytes));
  }
  return absl::OkStatus();
}

}  // namespace phyllo
