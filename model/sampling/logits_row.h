// What one row of raw logits says: maximum, normaliser, ranks, most probable tokens. Pure functions; one fixed order of summation,
// so the same row gives the same bits wherever it is computed.
#ifndef PHYLLO_MODEL_SAMPLING_LOGITS_ROW_H_
#define PHYLLO_MODEL_SAMPLING_LOGITS_ROW_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace phyllo {

struct TokenLogprob {
  int32_t token_id = 0;
  float logprob = 0.0f;  // natural logarithm of the probability, <= 0
};

struct LogitsSummary {
  float max = 0.0f;
  // log(sum_i exp(logits[i])): logits[i] - log_sum_exp is the log-probability of i.
  double log_sum_exp = 0.0;
};

// Reads `logits` [v], v >= 1. INTERNAL, naming the first offending index, if any logit is not finite.
absl::StatusOr<LogitsSummary> SummarizeLogits(absl::Span<const float> logits);

// exp(x) for x <= 0, by a polynomial with relative error below 2e-7; 0 below -87.3. The compiler vectorises loops over it.
// 2^n * P(r) with n = round(x / ln 2), r = x - n ln 2 in [-0.35, 0.35] and P the degree-6 minimax polynomial of the Cephes library (expf).
inline float ExpNonPositive(float x) {
  constexpr float kLowest = -87.3f;         // below, 2^n would leave the normal floats
  constexpr float kRounding = 12582912.0f;  // 1.5 * 2^23: adding and subtracting it rounds to the nearest integer
  const float clamped = x < kLowest ? kLowest : x;
  const float n = (clamped * 1.44269504f + kRounding) - kRounding;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const float scale = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x < kLowest ? 0.0f : p * scale;
}

// log p(token_id) under softmax(logits).
inline float LogProbability(absl::Span<const float> logits, const LogitsSummary& summary, int32_t token_id) {
  return static_cast<float>(static_cast<double>(logits[token_id]) - summary.log_sum_exp);
}

// 1 + the number of tokens with a strictly greater logit.
int64_t RankOf(absl::Span<const float> logits, int32_t token_id);

// The `count` most probable tokens, most probable first, lower id first among equals. `count` in [0, v].
std::vector<TokenLogprob> TopLogprobs(absl::Span<const float> logits, const LogitsSummary& summary, int64_t count);

// The index of the highest value; the lowest index among equals. `values` [v], v >= 1, no NaN.
int32_t ArgMax(absl::Span<const float> values);

// The `count`-th largest of `values` [v], counting equals separately. 1 <= count <= v, no NaN. `scratch` is reused storage.
float KthLargest(absl::Span<const float> values, int64_t count, std::vector<float>& scratch);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_LOGITS_ROW_H_
