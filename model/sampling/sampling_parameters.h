// What a request may ask of the sampler. Plain data; ValidateSamplingParameters is the one place
// that knows the ranges.
#ifndef PHYLLO_MODEL_SAMPLING_SAMPLING_PARAMETERS_H_
#define PHYLLO_MODEL_SAMPLING_SAMPLING_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace phyllo {

inline constexpr float kMaxTemperature = 100.0f;
inline constexpr float kMaxRepetitionPenalty = 100.0f;
inline constexpr float kMaxAdditivePenalty = 100.0f;
inline constexpr float kMaxLogitBias = 1000.0f;
inline constexpr int64_t kMaxLogitBiasCount = 1024;
inline constexpr int64_t kMaxTopLogprobs = 128;

// Ranges are inclusive unless said otherwise. The defaults change nothing: they sample from the
// model's own distribution. Copyable, thread-compatible; immutable once a sequence runs.
struct SamplingParameters {
  // 0 means greedy: the highest processed logit, the lowest id among equals; top_k, top_p, min_p
  // and seed then have no effect. Range [0, 100].
  float temperature = 1.0f;
  // Keep the top_k highest logits (and all equal to the last of them). Absent keeps all. Range [1,
  // 2^31).
  std::optional<int32_t> top_k = std::nullopt;
  // Keep the smallest set of most probable tokens whose probabilities sum to at least top_p. Range
  // (0, 1].
  float top_p = 1.0f;
  // Drop tokens less probable than min_p times the most probable one. Range [0, 1].
  float min_p = 0.0f;
  // Divides positive logits, multiplies negative ones, of every token of the prompt or the output.
  // Range (0, 100].
  float repetition_penalty = 1.0f;
  // Subtracted once for each earlier occurrence of the token in the output. Range [-100, 100].
  float frequency_penalty = 0.0f;
  // Subtracted once if the token occurs in the output. Range [-100, 100].
  float presence_penalty = 0.0f;
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
  // How many of the most probable tokens to report beside the sampled one. Range [0, 128].
  int32_t top_logprobs = 0;
  // Ids reported at every position as well, after the most probable ones. Ids in [0, v); at most
  // 128 of them.
  std::vector<int32_t> logprob_token_ids = {};
};

// INVALID_ARGUMENT naming the parameter, its value and its range, or the ids that leave no token to
// sample; OK otherwise. `vocab_size` is v, the width of a logits row.
absl::Status ValidateSamplingParameters(const SamplingParameters& parameters, int64_t vocab_size);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_SAMPLING_SAMPLING_PARAMETERS_H_
