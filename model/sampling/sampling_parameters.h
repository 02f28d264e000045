// What a request may ask of the sampler. Plain data; ValidateSamplingParameters is the one place
// that knows the ranges.
#ifndef PHYLLO_MODEL_SAMPLING_SAMPLING_PARAMETERS_H_
#define PHYLLO_MODEL_SAMPLING_SAMPLING_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"

namespace phyllo {

inline constexpr float kMaxTemperature = 100.0f;
inline constexpr float kMaxRepetitionPenalty = 100.0f;
inline constexpr float kMaxAdditivePenalty = 100.0f;
inline constexpr float kMaxLogitBias = 1000.0f;
inline constexpr int64_t kMaxLogitBiasCount = 1024;
inline constexpr int64_t kMaxTopLogprobs = 128;
inline constexpr float kMaxTopNSigma = 1000.0f;
inline constexpr int64_t kMaxBannedSequenceCount = 1024;
inline constexpr int64_t kMaxBannedSequenceLength = 256;
inline constexpr float kMaxDryMultiplier = 100.0f;
inline constexpr float kMaxDryBase = 100.0f;
inline constexpr int64_t kMaxDryBreakerCount = 1024;
inline constexpr float kMaxXtcThreshold = 0.5f;

// Settings of DRY, see ApplyDry.
struct DryParameters {
  float multiplier = 1.0f;     // range (0, 100]
  float base = 1.75f;          // range [1, 100]
  int32_t allowed_length = 2;  // range [0, 2^31)
  // At most 1024 ids in [0, v).
  absl::flat_hash_set<int32_t> breaker_token_ids = {};
};

// Settings of XTC, see SelectXtc.
struct XtcParameters {
  float probability = 0.0f;  // range [0, 1]
  float threshold = 0.1f;    // range [0, 0.5]
};

// Ranges are inclusive unless said otherwise. The defaults change nothing: they sample from the
// model's own distribution. Copyable, thread-compatible; immutable once a sequence runs.
struct SamplingParameters {
  // 0 means greedy: the highest processed logit, the lowest id among equals; top_k, top_p, min_p,
  // typical_p, top_n_sigma, xtc and seed then have no effect. Range [0, 100].
  float temperature = 1.0f;
  // Keep the top_k highest logits (and all equal to the last of them). Absent keeps all. Range [1,
  // 2^31).
  std::optional<int32_t> top_k = std::nullopt;
  // Keep the smallest set of most probable tokens whose probabilities sum to at least top_p. Range
  // (0, 1].
  float top_p = 1.0f;
  // Drop tokens less probable than min_p times the most probable one. Range [0, 1].
  float min_p = 0.0f;
  // Keep tokens whose information content is nearest to the entropy, up to this mass. Range (0, 1].
  float typical_p = 1.0f;
  // Keep tokens within this many standard deviations of the highest logit. Range (0, 1000].
  std::optional<float> top_n_sigma = std::nullopt;
  std::optional<XtcParameters> xtc = std::nullopt;
  // Divides positive logits, multiplies negative ones, of every token of the prompt or the output.
  // Range (0, 100].
  float repetition_penalty = 1.0f;
  // Subtracted once for each earlier occurrence of the token in the output. Range [-100, 100].
  float frequency_penalty = 0.0f;
  // Subtracted once if the token occurs in the output. Range [-100, 100].
  float presence_penalty = 0.0f;
  // The three penalties see this many latest tokens of prompt and output. Absent: all. Range [1,
  // 2^31).
  std::optional<int32_t> penalty_window = std::nullopt;
  std::optional<DryParameters> dry = std::nullopt;
  // No n-gram of this many tokens may occur twice in prompt and output. Range [1, 2^31).
  std::optional<int32_t> no_repeat_ngram_size = std::nullopt;
  // Sequences that prompt and output must not come to hold. At most 1024, each of 1 to 256 ids in
  // [0, v).
  std::vector<std::vector<int32_t>> banned_sequences = {};
  // (token id, value added to its logit). Ids distinct, in [0, v); values in [-1000, 1000]; at most
  // 1024 of them.
  std::vector<std::pair<int32_t, float>> logit_bias = {};
  // If not empty, only these ids may be sampled. Ids in [0, v).
  std::vector<int32_t> allowed_token_ids = {};
  // Until the output has this many tokens, stop_token_ids cannot be sampled. Range [0, 2^31).
  int32_t min_tokens = 0;
  // Ids that end the sequence (end-of-text ids and the request's own stop ids). The sampler only
  // bans them, see min_tokens. In [0, v).
  std::vector<int32_t> stop_token_ids = {};
  // Key of the random numbers. "No seed given" is resolved by the caller, which draws one and
  // returns it to the client.
  uint64_t seed = 0;
  // Which of a request's alternatives this is; part of the random counter. Range [0, 2^31).
  int32_t choice = 0;
  // Report the log-probability and the rank of the sampled token. The next two imply it.
  bool logprobs = false;
  // How many of the most probable tokens to report beside the sampled one. Range [0, 128].
  int32_t top_logprobs = 0;
  // Ids reported at every position as well, after the most probable ones. Ids in [0, v); at most
  // 128 of them.
  std::vector<int32_t> logprob_token_ids = {};

  bool WantsLogprobs() const { return logprobs || top_logprobs > 0 || !logprob_token_ids.empty(); }
};

// INVALID_ARGUMENT naming the parameter, its value and its range, or the ids that leave no token to
// sample; OK otherwise. `vocab_size` is v, the width of a logits row.
absl::Status ValidateSamplingParameters(const SamplingParameters& parameters, int64_t vocab_size);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_SAMPLING_PARAMETERS_H_
