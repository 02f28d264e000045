// Rotary position embedding: the frequencies of every scaling type, and the cosine and sine table
// rows.
//
// For rotary dimension r, the head's element pair (i, i + r/2) at position p is rotated by the
// angle p * inverse_frequency[i]; cos and sin are multiplied by the attention factor. Unscaled:
// inverse_frequency[i] = rope_theta^(-2i / r) (RoFormer, section 3.2.2).
#ifndef PHYLLO_MODEL_CONFIG_ROPE_H_
#define PHYLLO_MODEL_CONFIG_ROPE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/config/rope_parameters.h"

namespace phyllo {

// The frequencies of one model. A few hundred bytes. Immutable, hence thread-safe; copyable.
//
// Formulas, as in transformers' modeling_rope_utils.py, with s = factor, f = unscaled frequency,
// L = original_max_position_embeddings, M = max_position_embeddings, r = rotary_dim:
//   linear:  f / s
//   dynamic: f from the base rope_theta * (s * n / M - (s - 1))^(r / (r - 2)), n = max(length, M)
//   yarn:    f / s * (1 - m) + f * m; m falls from 1 to 0 between the dimensions that turn
//            beta_fast and beta_slow times over L (YaRN, arXiv 2309.00071, section 3.2);
//            attention factor 0.1 ln(s) + 1, or the mscale ratio, or as given
//   llama3:  by wavelength w = 2 pi / f: f if w < L / high_freq_factor,
//            f / s if w > L / low_freq_factor, between them a blend
//   longrope: f / short_factor[i], or f / long_factor[i] for sequences over L (LongRoPE, arXiv
//            2402.13753); attention factor sqrt(1 + ln(s) / ln(L)) in both, or as given
//   MiniMind's two forms: see rope.cc
//
// Arithmetic is rounded to float where torch rounds, so that angles at large positions agree with
// the reference.
class RopeFrequencies {
 public:
  // `rotary_dim` is the number of rotated elements of a head: even, > 0 (> 2 for dynamic).
  // Errors: INVALID_ARGUMENT if it is not, or if a frequency comes out as zero or not finite.
  static absl::StatusOr<RopeFrequencies> Create(const RopeParameters& parameters,
                                                int64_t rotary_dim,
                                                int64_t max_position_embeddings);

  int64_t rotary_dim() const { return 2 * static_cast<int64_t>(inverse_frequencies_.size()); }

  // cos and sin are multiplied by it; 1 for most types.
  float attention_factor() const { return attention_factor_; }

  // [rotary_dim / 2], for lengths up to length_limit().
  absl::Span<const float> inverse_frequencies() const { return inverse_frequencies_; }

  // The largest length that inverse_frequencies() holds for: INT64_MAX unless the type is dynamic
  // or longrope.
  int64_t length_limit() const { return length_limit_; }

  // The frequencies to rotate with when the sequence has `length` tokens, into `out`
  // [rotary_dim / 2]. Allocates nothing.
  void ForLength(int64_t length, absl::Span<float> out) const;

  // The length whose frequencies rotate the query and the key at `position` of a request whose
  // prompt has `prompt_length` tokens: prompt_length for prompt positions, position + 1 for
  // generated ones. This is what transformers' cached generation does (the prompt is one forward,
  // each later token one more, and cached keys keep their rotation), stated so that it depends on
  // the request alone, never on chunks or batches. A key past length_limit() is therefore a
  // function of the prompt's length too: with these types a prefix may be shared only between
  // prompts whose RotationLength is equal or within length_limit().
  static int64_t RotationLength(int64_t position, int64_t prompt_length) {
    return position < prompt_length ? prompt_length : position + 1;
  }

 private:
  RopeFrequencies() = default;

  RopeParameters parameters_;
  int64_t max_position_embeddings_ = 0;
  int64_t length_limit_ = 0;
  float attention_factor_ = 1.0f;
  std::vector<float> inverse_frequencies_;  // [rotary_dim / 2]
};

// One row of the cosine and sine table: cos[i] = cos(position * inverse_frequencies[i]) *
// attention_factor, sin likewise. The angle is rounded to float, as the reference's is. All spans
// are [rotary_dim / 2].
void ComputeRopeRow(absl::Span<const float> inverse_frequencies, int64_t position,
                    float attention_factor, absl::Span<float> cos, absl::Span<float> sin);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_ROPE_H_
