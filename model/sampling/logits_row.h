// What one row of logits says: maximum, normaliser, ranks, most probable tokens. Pure
// functions; one fixed order of summation, so the same row gives the same bits wherever it is
// computed.
#ifndef PHYLLO_MODEL_SAMPLING_LOGITS_ROW_H_
#define PHYLLO_MODEL_SAMPLING_LOGITS_ROW_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace phyllo {

struct TokenLogprob {
  int32_t token_id = 0;
  float logprob = 0.0f;  // natural logarithm of the probability, <= 0
  int64_t rank = 1;      // as RankOf
};

struct LogitsSummary {
  float max = 0.0f;
  // log(sum_i exp(logits[i])): logits[i] - log_sum_exp is the log-probability of i.
  double log_sum_exp = 0.0;
};

// Reads `logits` [v], v >= 1. INTERNAL, naming the first offending index, if any logit is not
// finite.
absl::StatusOr<LogitsSummary> SummarizeLogits(absl::Span<const float> logits);

// INTERNAL, naming the first offending index, if any of `logits` [v], v >= 1, is not finite.
absl::Status CheckFinite(absl::Span<const float> logits);

// The largest logit of a row whose pieces are seen one by one.
struct LargestLogit {
  int32_t token_id = -1;  // the lowest among equals; -1 before the first piece
  float logit = -std::numeric_limits<float>::infinity();
  bool finite = true;  // whether all logits are; if not, the others say nothing
};

// Takes in `logits` [n], n >= 1, of the tokens from first_token_id on. The pieces of a row may come
// in any order.
void IncludeLogits(absl::Span<const float> logits, int32_t first_token_id, LargestLogit& largest);
// Takes in all pieces that `other` has.
void IncludeLargest(const LargestLogit& other, LargestLogit& largest);

// values[i] = exp(values[i]) for values <= 0, with a relative error below 2e-7; 0 below -87.3. In
// place.
void ExpNonPositive(absl::Span<float> values);

// log p(token_id) under softmax(logits).
inline float LogProbability(absl::Span<const float> logits, const LogitsSummary& summary,
                            int32_t token_id) {
  return static_cast<float>(static_cast<double>(logits[token_id]) - summary.log_sum_exp);
}

// 1 + the number of tokens with a strictly greater logit.
int64_t RankOf(absl::Span<const float> logits, int32_t token_id);

// The `count` most probable tokens, most probable first, lower id first among equals. `count` in
// [0, v].
std::vector<TokenLogprob> TopLogprobs(absl::Span<const float> logits, const LogitsSummary& summary,
                                      int64_t count);

// The highest of `values`; -infinity if there are none. No NaN.
float MaxOf(absl::Span<const float> values);

// The index of the highest value; the lowest index among equals. `values` [v], v >= 1, no NaN.
int32_t ArgMax(absl::Span<const float> values);

// The `count`-th largest of `values` [v], counting equals separately. 1 <= count <= v, no NaN.
// `scratch` is reused storage.
float KthLargest(absl::Span<const float> values, int64_t count, std::vector<float>& scratch);

// Calls visit(i) for every i, ascending, with values[i] >= threshold. Quick where they are few.
template <typename Visit>
void VisitAtLeast(absl::Span<const float> values, float threshold, Visit visit) {
  constexpr size_t kBlock = 256;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const absl::Span<const float> block = values.subspan(begin, kBlock);
    if (MaxOf(block) < threshold) continue;
    for (size_t i = 0; i < block.size(); ++i) {
      if (block[i] >= threshold) visit(static_cast<int32_t>(begin + i));
    }
  }
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_LOGITS_ROW_H_
