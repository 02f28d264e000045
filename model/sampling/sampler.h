// From a row of logits to a token.
//   Sampler sampler(vocab_size);
//   PHYLLO_ASSIGN_OR_RETURN(const SampledToken token, sampler.Sample(row, history, parameters,
//   position));
#ifndef PHYLLO_MODEL_SAMPLING_SAMPLER_H_
#define PHYLLO_MODEL_SAMPLING_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/sampling/candidates.h"
#include "model/sampling/history_processors.h"
#include "model/sampling/logits_row.h"
#include "model/sampling/sampling_parameters.h"
#include "model/sampling/token_history.h"

namespace phyllo {

// Log-probabilities and ranks are those of the raw logits (log-softmax before bias, penalties, bans
// and temperature): they say what the model thought, and do not change with the sampling
// parameters. Left as they are here unless the parameters want them.
struct SampledToken {
  int32_t token_id = 0;
  float logprob = 0.0f;
  int64_t rank = 1;  // 1 + number of tokens with a strictly greater raw logit
  std::vector<TokenLogprob>
      top_logprobs;  // [top_logprobs], most probable first, then those of logprob_token_ids
};

// What `logits` [v] say of a given token: how prompts are scored. Of `parameters` only top_logprobs
// and logprob_token_ids are read. INTERNAL if a logit is not finite.
absl::StatusOr<SampledToken> DescribeToken(absl::Span<const float> logits, int32_t token_id,
                                           const SamplingParameters& parameters);

// Whether Sample takes the largest of the raw logits and reports nothing else of them: then
// TakeLargest of a LargestLogit gives the same token. Stays so while `history` grows.
bool TakesLargest(const SamplingParameters& parameters, const TokenHistory& history);
// INTERNAL if a logit is not finite.
absl::StatusOr<SampledToken> TakeLargest(const LargestLogit& largest);

// Draws tokens; holds only scratch, sized by vocab_size and the longest history, so that Sample
// does not allocate beyond top_logprobs. The result is a function of the arguments alone.
// Thread-compatible: one sampler per thread.
class Sampler {
 public:
  explicit Sampler(int64_t vocab_size);

  // `logits` [v], not changed. `history` holds the sequence's prompt and output; `position` is that
  // of the token to be sampled, i.e. the number of tokens before it. `parameters` must have passed
  // ValidateSamplingParameters. INTERNAL if a logit is not finite. INVALID_ARGUMENT if every token
  // is banned.
  absl::StatusOr<SampledToken> Sample(absl::Span<const float> logits, const TokenHistory& history,
                                      const SamplingParameters& parameters, int64_t position);

  // Whom Sample draws from, ids ascending, with their weights: all steps but the draw. With
  // temperature 0 the one token that it takes. Valid until the next call. Errors as of Sample, but
  // that the logits are not checked.
  absl::StatusOr<absl::Span<const Candidate>> SelectCandidates(absl::Span<const float> logits,
                                                               const TokenHistory& history,
                                                               const SamplingParameters& parameters,
                                                               int64_t position);

 private:
  // The logits after bias, penalties and bans: `logits` themselves if nothing changes them.
  absl::Span<const float> Process(absl::Span<const float> logits, const TokenHistory& history,
                                  const SamplingParameters& parameters);

  std::vector<float> processed_;       // [v]
  std::vector<float> scratch_;         // [v]
  std::vector<Candidate> candidates_;  // <= v
  HistoryScratch history_scratch_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_SAMPLER_H_
