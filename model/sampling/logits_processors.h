// The steps between raw logits and a choice that concern single tokens, as pure functions on one
// row.
//
// All steps, in the order of transformers' GenerationMixin._get_logits_processor (sequence bias,
// repetition penalty, no-repeat n-gram, bad words, min new tokens, allowed tokens; then
// temperature, top_k, top_p, min_p, typical_p). What transformers lacks stands where its kin does:
//   logit_bias -> repetition_penalty -> frequency_penalty, presence_penalty -> dry ->
//   no_repeat_ngram, banned_sequences -> min_tokens -> allowed_token_ids     (processors)
//   -> temperature -> top_k -> top_p -> min_p -> typical_p -> top_n_sigma -> xtc     (candidates)
//   -> draw.
// history_processors.h has the steps that depend on earlier tokens, candidates.h those that choose
// whom to draw from.
#ifndef PHYLLO_MODEL_SAMPLING_LOGITS_PROCESSORS_H_
#define PHYLLO_MODEL_SAMPLING_LOGITS_PROCESSORS_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace phyllo {

// The logit of a token that must not be chosen.
inline constexpr float kBannedLogit = -std::numeric_limits<float>::infinity();

// logits[id] += bias (SequenceBiasLogitsProcessor with sequences of one token).
void AddLogitBias(absl::Span<const std::pair<int32_t, float>> logit_bias, absl::Span<float> logits);

// logits[id] = -infinity.
void BanTokens(absl::Span<const int32_t> token_ids, absl::Span<float> logits);

// logits[id] = -infinity unless id is in `allowed`; `scratch` is reused storage.
void KeepOnlyTokens(absl::Span<const int32_t> allowed, absl::Span<float> logits,
                    std::vector<float>& scratch);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_LOGITS_PROCESSORS_H_
