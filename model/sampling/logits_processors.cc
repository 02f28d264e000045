// Invariants:
// - Banned tokens are at -infinity and never become candidates.
// - Candidates are in ascending order of id between the steps, so that every sum over them has one
// order.
#include "model/sampling/logits_processors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "model/sampling/logits_row.h"

namespace phyllo {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

// Where the nucleus ends: every candidate with weight > `weight` is kept, and of those equal to it
// the first `equal_count` ids.
struct MassThreshold {
  float weight = 0.0f;
  int64_t equal_count = 0;
};

// Finds the weight at which the mass of the candidates, heaviest first, reaches `target`.
// Non-negative floats order as their bits do, so the threshold is found digit by digit from the
// top: 12, 12 and 8 bits, each one pass that sums the mass of every digit.
MassThreshold FindMassThreshold(const std::vector<Candidate>& candidates, double target) {
  constexpr std::array<int, 3> kShifts = {20, 8, 0};
  constexpr std::array<uint32_t, 3> kDigitMasks = {0xfffu, 0xfffu, 0xffu};
  uint32_t prefix = 0, prefix_mask = 0;
  double mass_above = 0.0;
  for (int pass = 0; pass < 3; ++pass) {
    std::array<double, 4096> mass{};
    for (const Candidate& candidate : candidates) {
      const uint32_t bits = std::bit_cast<uint32_t>(candidate.weight);
      if ((bits & prefix_mask) == prefix)
        mass[(bits >> kShifts[pass]) & kDigitMasks[pass]] += candidate.weight;
    }
    // Where rounding keeps the whole sum under the target, the nucleus ends with the lightest digit
    // that occurs.
    uint32_t digit = 0;
    double mass_before_digit = mass_above;
    double cumulated = mass_above;
    for (int64_t d = kDigitMasks[pass]; d >= 0 && cumulated < target; --d) {
      if (mass[d] == 0.0) continue;
      digit = static_cast<uint32_t>(d);
      mass_before_digit = cumulated;
      cumulated += mass[d];
    }
    mass_above = mass_before_digit;
    prefix |= digit << kShifts[pass];
    prefix_mask |= kDigitMasks[pass] << kShifts[pass];
  }
  MassThreshold threshold{.weight = std::bit_cast<float>(prefix)};
  // The n-th of the equals is kept while the mass before it is less than the target.
  do {
    ++threshold.equal_count;
  } while (mass_above +
               static_cast<double>(threshold.weight) * static_cast<double>(threshold.equal_count) <
           target);
  return threshold;
}

}  // namespace

void AddLogitBias(absl::Span<const std::pair<int32_t, float>> logit_bias,
                  absl::Span<float> logits) {
  for (const auto& [token_id, bias] : logit_bias) logits[token_id] += bias;
}

void ApplyRepetitionPenalty(const TokenHistory& history, float penalty, absl::Span<float> logits) {
  for (const auto& [token_id, count] : history.occurrences()) {
    float& logit = logits[token_id];
    logit = logit < 0.0f ? logit * penalty : logit / penalty;
  }
}

void ApplyFrequencyAndPresencePenalty(const TokenHistory& history, float frequency, float presence,
                                      absl::Span<float> logits) {
  for (const auto& [token_id, count] : history.occurrences()) {
    if (count > 0) logits[token_id] -= frequency * static_cast<float>(count) + presence;
  }
}

void BanTokens(absl::Span<const int32_t> token_ids, absl::Span<float> logits) {
  for (const int32_t token_id : token_ids) logits[token_id] = kBanned;
}

void KeepOnlyTokens(absl::Span<const int32_t> allowed, absl::Span<float> logits,
                    std::vector<float>& scratch) {
  scratch.assign(logits.begin(), logits.end());
  std::fill(logits.begin(), logits.end(), kBanned);
  for (const int32_t token_id : allowed) logits[token_id] = scratch[token_id];
}

void SelectTopK(absl::Span<const float> logits, float temperature, int64_t top_k,
                std::vector<float>& scratch, std::vector<Candidate>& candidates) {
  const int64_t vocab_size = logits.size();
  const float max = logits[ArgMax(logits)];
  const float threshold = top_k < vocab_size ? KthLargest(logits, top_k, scratch) : kBanned;
  candidates.resize(vocab_size);
  int64_t count = 0;
  for (int64_t id = 0; id < vocab_size; ++id) {
    candidates[count] = {static_cast<int32_t>(id), logits[id]};
    count += logits[id] >= threshold && logits[id] != kBanned ? 1 : 0;
  }
  candidates.resize(count);
  // Shifting by the maximum first keeps a tiny temperature from overflowing.
  scratch.resize(count);
  for (int64_t i = 0; i < count; ++i) scratch[i] = (candidates[i].weight - max) / temperature;
  ExpNonPositive(absl::MakeSpan(scratch));
  for (int64_t i = 0; i < count; ++i) candidates[i].weight = scratch[i];
}

void SelectTopP(float top_p, std::vector<Candidate>& candidates) {
  if (top_p >= 1.0f) return;
  double total = 0.0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  const MassThreshold threshold = FindMassThreshold(candidates, static_cast<double>(top_p) * total);
  int64_t equal_seen = 0;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (candidate.weight == threshold.weight) return equal_seen++ >= threshold.equal_count;
    return candidate.weight < threshold.weight;
  });
}

void SelectMinP(float min_p, std::vector<Candidate>& candidates) {
  if (min_p <= 0.0f) return;
  float greatest = 0.0f;
  for (const Candidate& candidate : candidates) greatest = std::max(greatest, candidate.weight);
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return candidate.weight < min_p * greatest; });
}

int32_t Draw(absl::Span<const Candidate> candidates, double uniform) {
  double total = 0.0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  const double target = uniform * total;
  double cumulated = 0.0;
  int32_t last_possible = candidates.front().token_id;
  for (const Candidate& candidate : candidates) {
    cumulated += candidate.weight;
    if (candidate.weight > 0.0f) last_possible = candidate.token_id;
    if (cumulated > target) return candidate.token_id;
  }
  return last_possible;  // uniform * total rounded up to the total
}

}  // namespace phyllo
