// The steps between raw logits and a choice that depend on earlier tokens, as pure functions on one
// row; see logits_processors.h for their order.
#ifndef PHYLLO_MODEL_SAMPLING_HISTORY_PROCESSORS_H_
#define PHYLLO_MODEL_SAMPLING_HISTORY_PROCESSORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "model/sampling/sampling_parameters.h"
#include "model/sampling/token_history.h"

namespace phyllo {

// logits[id] = l < 0 ? l * penalty : l / penalty for every distinct token of prompt and output in
// the window (RepetitionPenaltyLogitsProcessor).
void ApplyRepetitionPenalty(const TokenHistory& history, float penalty, absl::Span<float> logits);

// logits[id] -= frequency * count(id) + presence * [count(id) > 0], counts over the output in the
// window (vLLM, OpenAI).
void ApplyFrequencyAndPresencePenalty(const TokenHistory& history, float frequency, float presence,
                                      absl::Span<float> logits);

// lengths[i], i in [0, n): how many tokens before i equal the last tokens of all, the largest m <=
// i with token_ids[i - m, i) == token_ids[n - m, n): token i then continued what the sequence now
// ends with. kNoTokenId equals nothing. O(n): the Z algorithm (Gusfield, "Algorithms on Strings,
// Trees and Sequences", 1.4) on the reversed tokens.
void MeasureRepeats(absl::Span<const int32_t> token_ids, std::vector<int32_t>& lengths);

// Storage that is reused from token to token.
struct HistoryScratch {
  std::vector<int32_t> repeat_lengths;
  std::vector<std::pair<int32_t, int32_t>> continuations;  // (token id, repeat length)
};

// DRY ("Don't Repeat Yourself", p-e-w's text-generation-webui pull request 5677) with the details
// of llama.cpp's llama_sampler_dry_apply: a token that once followed the n tokens which the
// sequence ends with, n the greatest if it did so several times, loses multiplier * base^(n -
// allowed_length) if n >= allowed_length. Repetitions do not reach back over a breaker, and a
// breaker is not penalised itself. The exponent is limited so that the power stays a finite float.
void ApplyDry(absl::Span<const int32_t> token_ids, const DryParameters& dry,
              HistoryScratch& scratch, absl::Span<float> logits);

// Bans every token that would complete an n-gram of `size` >= 1 tokens which prompt and output hold
// already (NoRepeatNGramLogitsProcessor).
void BanRepeatedNgrams(absl::Span<const int32_t> token_ids, int64_t size, HistoryScratch& scratch,
                       absl::Span<float> logits);

// Bans the last token of every sequence whose other tokens are those that prompt and output end
// with (NoBadWordsLogitsProcessor; other than there, an end-of-sequence id is banned like any
// other). No sequence is empty.
void BanSequences(absl::Span<const int32_t> token_ids,
                  absl::Span<const std::vector<int32_t>> sequences, absl::Span<float> logits);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_HISTORY_PROCESSORS_H_
