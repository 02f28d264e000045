// Invariants:
// - Banned tokens are at -infinity and never become candidates.
// - Candidates are in ascending order of id between the steps, so that every sum over them has one
// order.
#include "model/sampling/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model/sampling/logits_processors.h"
#include "model/sampling/logits_row.h"

namespace phyllo {
namespace {

double TotalWeight(absl::Span<const Candidate> candidates) {
  double total = 0.0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

// Where a set of candidates of a given mass ends: all with a greater key belong to it.
struct MassThreshold {
  uint32_t key = 0;
  double mass_above = 0.0;  // of the candidates with a greater key
};

// Finds the key at which the mass of the candidates, greatest key first, reaches `target`. The key
// is found digit by digit from the top: 12, 12 and 8 bits, each one pass that sums the mass of
// every digit. `key_of(i)` is the key of candidates[i].
template <typename KeyOf>
MassThreshold FindMassThreshold(absl::Span<const Candidate> candidates, double target,
                                KeyOf key_of) {
  constexpr std::array<int, 3> kShifts = {20, 8, 0};
  constexpr std::array<uint32_t, 3> kDigitMasks = {0xfffu, 0xfffu, 0xffu};
  uint32_t prefix = 0, prefix_mask = 0;
  double mass_above = 0.0;
  for (int pass = 0; pass < 3; ++pass) {
    std::array<double, 4096> mass{};
    for (size_t i = 0; i < candidates.size(); ++i) {
      const uint32_t key = key_of(i);
      if ((key & prefix_mask) == prefix)
        mass[(key >> kShifts[pass]) & kDigitMasks[pass]] += candidates[i].weight;
    }
    // Where rounding keeps the whole sum under the target, the set ends with the least digit that
    // occurs.
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
  return {prefix, mass_above};
}

}  // namespace

void SelectTopK(absl::Span<const float> logits, float temperature, int64_t top_k,
                std::vector<float>& scratch, std::vector<Candidate>& candidates) {
  const int64_t vocab_size = logits.size();
  candidates.clear();
  if (top_k < vocab_size) {
    const float threshold = KthLargest(logits, top_k, scratch);
    VisitAtLeast(logits, threshold, [&](int32_t id) {
      if (logits[id] != kBannedLogit) candidates.push_back({id, logits[id]});
    });
  } else {
    candidates.resize(vocab_size);
    int64_t count = 0;
    for (int64_t id = 0; id < vocab_size; ++id) {
      candidates[count] = {static_cast<int32_t>(id), logits[id]};
      count += logits[id] != kBannedLogit ? 1 : 0;
    }
    candidates.resize(count);
  }
  const auto count = static_cast<int64_t>(candidates.size());
  // Shifting by the maximum, which is among them, keeps a tiny temperature from overflowing.
  float max = kBannedLogit;
  for (const Candidate& candidate : candidates) max = std::max(max, candidate.weight);
  scratch.resize(count);
  for (int64_t i = 0; i < count; ++i) scratch[i] = (candidates[i].weight - max) / temperature;
  ExpNonPositive(absl::MakeSpan(scratch));
  for (int64_t i = 0; i < count; ++i) candidates[i].weight = scratch[i];
}

void SelectTopP(float top_p, std::vector<Candidate>& candidates) {
  if (top_p >= 1.0f) return;
  const double target = static_cast<double>(top_p) * TotalWeight(candidates);
  // Non-negative floats order as their bits do.
  const MassThreshold threshold = FindMassThreshold(
      candidates, target, [&](size_t i) { return std::bit_cast<uint32_t>(candidates[i].weight); });
  const float weight = std::bit_cast<float>(threshold.key);
  // The n-th of those that weigh as much as the last one is kept while the mass before it is less
  // than the target.
  double mass = threshold.mass_above;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (candidate.weight != weight) return candidate.weight < weight;
    const bool erase = mass >= target;
    mass += weight;
    return erase;
  });
}

void SelectMinP(float min_p, std::vector<Candidate>& candidates) {
  if (min_p <= 0.0f) return;
  float greatest = 0.0f;
  for (const Candidate& candidate : candidates) greatest = std::max(greatest, candidate.weight);
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return candidate.weight < min_p * greatest; });
}

void SelectTypicalP(float typical_p, std::vector<float>& scratch,
                    std::vector<Candidate>& candidates) {
  if (typical_p >= 1.0f) return;
  const double total = TotalWeight(candidates);
  const auto count = static_cast<int64_t>(candidates.size());
  // Information content: log(total) - log(weight). What weighs nothing is infinitely far from the
  // entropy and adds nothing to it.
  scratch.resize(count);
  double entropy = std::log(total);
  for (int64_t i = 0; i < count; ++i) {
    scratch[i] = std::log(candidates[i].weight);
    if (candidates[i].weight > 0.0f) entropy -= candidates[i].weight / total * scratch[i];
  }
  const auto entropy_of_weight = static_cast<float>(std::log(total) - entropy);
  for (int64_t i = 0; i < count; ++i) scratch[i] = std::abs(scratch[i] - entropy_of_weight);
  // Nearest first: the key falls as the distance grows.
  const MassThreshold threshold =
      FindMassThreshold(candidates, static_cast<double>(typical_p) * total,
                        [&](size_t i) { return ~std::bit_cast<uint32_t>(scratch[i]); });
  const float distance = std::bit_cast<float>(~threshold.key);
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (scratch[i] <= distance) candidates[kept++] = candidates[i];
  }
  candidates.resize(kept);
}

double StandardDeviation(absl::Span<const float> logits) {
  double sum = 0.0;
  int64_t count = 0;
  for (const float logit : logits) {
    if (logit == kBannedLogit) continue;
    sum += logit;
    ++count;
  }
  const double mean = sum / static_cast<double>(count);
  double squares = 0.0;
  for (const float logit : logits) {
    if (logit != kBannedLogit) squares += (logit - mean) * (logit - mean);
  }
  return std::sqrt(squares / static_cast<double>(count));
}

void SelectTopNSigma(float top_n_sigma, double sigma, std::vector<Candidate>& candidates) {
  // l >= max l - n sigma, in weights exp((l - max l) / temperature).
  SelectMinP(static_cast<float>(std::exp(-static_cast<double>(top_n_sigma) * sigma)), candidates);
}

void SelectXtc(float threshold, std::vector<Candidate>& candidates) {
  const double least = static_cast<double>(threshold) * TotalWeight(candidates);
  int64_t last_in_rank = -1;
  int64_t count = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].weight < least) continue;
    ++count;
    if (last_in_rank < 0 || candidates[i].weight <= candidates[last_in_rank].weight)
      last_in_rank = static_cast<int64_t>(i);
  }
  if (count < 2) return;
  const int32_t kept_id = candidates[last_in_rank].token_id;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.weight >= least && candidate.token_id != kept_id;
  });
}

int32_t Draw(absl::Span<const Candidate> candidates, double uniform) {
  const double target = uniform * TotalWeight(candidates);
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
