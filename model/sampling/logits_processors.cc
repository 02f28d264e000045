#include "model/sampling/logits_processors.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace phyllo {

void AddLogitBias(absl::Span<const std::pair<int32_t, float>> logit_bias,
                  absl::Span<float> logits) {
  for (const auto& [token_id, bias] : logit_bias) logits[token_id] += bias;
}

void BanTokens(absl::Span<const int32_t> token_ids, absl::Span<float> logits) {
  for (const int32_t token_id : token_ids) logits[token_id] = kBannedLogit;
}

void KeepOnlyTokens(absl::Span<const int32_t> allowed, absl::Span<float> logits,
                    std::vector<float>& scratch) {
  scratch.assign(logits.begin(), logits.end());
  std::fill(logits.begin(), logits.end(), kBannedLogit);
  for (const int32_t token_id : allowed) logits[token_id] = scratch[token_id];
}

}  // namespace phyllo
