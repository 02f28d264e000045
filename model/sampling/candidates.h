// The steps between processed logits and a token, as pure functions: who may be drawn, and how
// likely. See logits_processors.h for their order.
#ifndef PHYLLO_MODEL_SAMPLING_CANDIDATES_H_
#define PHYLLO_MODEL_SAMPLING_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace phyllo {

// A token that may still be drawn. weight = exp((l - max l) / temperature), proportional to its
// probability; in [0, 1].
struct Candidate {
  int32_t token_id = 0;
  float weight = 0.0f;
};

// Fills `candidates`, ids ascending, with the tokens whose logit is >= the top_k-th largest
// (TopKLogitsWarper; equals of the last are kept), weighted at `temperature` > 0. top_k >= v keeps
// all but those at -infinity, which may be none. `scratch` is reused storage.
void SelectTopK(absl::Span<const float> logits, float temperature, int64_t top_k,
                std::vector<float>& scratch, std::vector<Candidate>& candidates);

// All functions below keep at least one candidate, and the order.

// Keeps a candidate if the probabilities of those ranked before it sum to less than `top_p`
// (TopPLogitsWarper). Rank: weight descending, then id ascending. Needs ascending ids. O(n): a
// radix selection by mass, no sort of all.
void SelectTopP(float top_p, std::vector<Candidate>& candidates);

// Keeps a candidate if its weight is at least min_p times the greatest weight (MinPLogitsWarper).
void SelectMinP(float min_p, std::vector<Candidate>& candidates);

// Keeps the candidates whose information content -log p is nearest to the entropy, nearest first,
// until their probabilities sum to `typical_p`, and all as near as the last of them
// (TypicalLogitsWarper; Meister et al., "Locally Typical Sampling", 2022). O(n) likewise. `scratch`
// is reused storage.
void SelectTypicalP(float typical_p, std::vector<float>& scratch,
                    std::vector<Candidate>& candidates);

// The standard deviation, not corrected for the sample, of all logits that are not banned; 0 if
// there is but one. `logits` holds at least one that is not banned.
double StandardDeviation(absl::Span<const float> logits);

// Keeps a candidate if its logit is at least the largest one's minus top_n_sigma * sigma (Tang et
// al., "Top-n-sigma: Not All Logits Are You Need", 2024). `sigma` is the deviation of the logits
// divided by the temperature: of the whole vocabulary, whatever was selected before, as in
// llama.cpp, where this step comes first.
void SelectTopNSigma(float top_n_sigma, double sigma, std::vector<Candidate>& candidates);

// Exclude top choices (p-e-w's text-generation-webui pull request 6335; llama.cpp's
// llama_sampler_xtc_apply): of the candidates with a probability of at least `threshold` only the
// last in rank stays. Whether it is to act for this token the caller has drawn.
void SelectXtc(float threshold, std::vector<Candidate>& candidates);

// The first candidate, in order, whose cumulated weight exceeds `uniform` in [0, 1) of the total.
// `candidates` not empty, one weight > 0.
int32_t Draw(absl::Span<const Candidate> candidates, double uniform);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_CANDIDATES_H_
