// The steps between raw logits and the draw, as pure functions on one row, named and defined as in
// transformers' generation code.
//
// Order, as transformers' GenerationMixin._get_logits_processor builds its list (sequence bias,
// repetition penalty, min new tokens, allowed tokens; then temperature, top_k, top_p, min_p);
// frequency and presence penalty, which transformers lacks, stand beside the repetition penalty as
// in vLLM:
//   logit_bias -> repetition_penalty -> frequency_penalty, presence_penalty -> min_tokens ->
//   allowed_token_ids
//   -> temperature -> top_k -> top_p -> min_p -> draw.
#ifndef PHYLLO_MODEL_SAMPLING_LOGITS_PROCESSORS_H_
#define PHYLLO_MODEL_SAMPLING_LOGITS_PROCESSORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "model/sampling/token_history.h"

namespace phyllo {

// logits[id] += bias (SequenceBiasLogitsProcessor with sequences of one token).
void AddLogitBias(absl::Span<const std::pair<int32_t, float>> logit_bias, absl::Span<float> logits);

// logits[id] = l < 0 ? l * penalty : l / penalty for every distinct token of prompt and output
// (RepetitionPenaltyLogitsProcessor).
void ApplyRepetitionPenalty(const TokenHistory& history, float penalty, absl::Span<float> logits);

// logits[id] -= frequency * count(id) + presence * [count(id) > 0], counts over the output only
// (vLLM, OpenAI).
void ApplyFrequencyAndPresencePenalty(const TokenHistory& history, float frequency, float presence,
                                      absl::Span<float> logits);

// logits[id] = -infinity.
void BanTokens(absl::Span<const int32_t> token_ids, absl::Span<float> logits);

// logits[id] = -infinity unless id is in `allowed`; `scratch` is reused storage.
void KeepOnlyTokens(absl::Span<const int32_t> allowed, absl::Span<float> logits,
                    std::vector<float>& scratch);

// A token that may still be drawn. weight = exp((l - max l) / temperature), proportional to its
// probability; in [0, 1].
struct Candidate {
  int32_t token_id = 0;
  float weight = 0.0f;
};

// Fills `candidates`, ids ascending, with the tokens whose logit is >= the top_k-th largest
// (TopKLogitsWarper; equals of the last are kept), weighted at `temperature` > 0. top_k >= v keeps
// all but those at -infinity. `scratch` is reused storage.
void SelectTopK(absl::Span<const float> logits, float temperature, int64_t top_k,
                std::vector<float>& scratch, std::vector<Candidate>& candidates);

// Keeps a candidate if the probabilities of those ranked before it sum to less than `top_p`
// (TopPLogitsWarper), at least one. Rank: weight descending, then id ascending. Needs and keeps
// ascending ids. O(n): a radix selection by mass, no sort of all.
void SelectTopP(float top_p, std::vector<Candidate>& candidates);

// Keeps a candidate if its weight is at least min_p times the greatest weight (MinPLogitsWarper).
// Keeps the order.
void SelectMinP(float min_p, std::vector<Candidate>& candidates);

// The first candidate, in order, whose cumulated weight exceeds `uniform` in [0, 1) of the total.
// `candidates` not empty, one weight > 0.
int32_t Draw(absl::Span<const Candidate> candidates, double uniform);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_LOGITS_PROCESSORS_H_
