#include "model/sampling/history_processors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "model/sampling/logits_processors.h"

namespace phyllo {
namespace {

// The number of latest tokens among which no breaker is, nor a token without id.
int64_t CountSinceBreaker(absl::Span<const int32_t> token_ids,
                          const absl::flat_hash_set<int32_t>& breakers) {
  const auto breaker = std::find_if(token_ids.rbegin(), token_ids.rend(), [&](int32_t id) {
    return id == kNoTokenId || breakers.contains(id);
  });
  return breaker - token_ids.rbegin();
}

// The largest exponent with a finite power.
int32_t MaxExponent(float base) {
  constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
  const float log_base = std::log(base);
  const float log_max = std::log(std::numeric_limits<float>::max());
  return log_base > log_max / static_cast<float>(kNoLimit)
             ? static_cast<int32_t>(log_max / log_base)
             : kNoLimit;
}

}  // namespace

void ApplyRepetitionPenalty(const TokenHistory& history, float penalty, absl::Span<float> logits) {
  for (const auto& [token_id, occurrences] : history.occurrences()) {
    float& logit = logits[token_id];
    logit = logit < 0.0f ? logit * penalty : logit / penalty;
  }
}

void ApplyFrequencyAndPresencePenalty(const TokenHistory& history, float frequency, float presence,
                                      absl::Span<float> logits) {
  for (const auto& [token_id, occurrences] : history.occurrences()) {
    if (occurrences.in_output > 0)
      logits[token_id] -= frequency * static_cast<float>(occurrences.in_output) + presence;
  }
}

void MeasureRepeats(absl::Span<const int32_t> token_ids, std::vector<int32_t>& lengths) {
  const auto size = static_cast<int64_t>(token_ids.size());
  lengths.assign(size, 0);
  // Seen from the end, reversed(i) = token_ids[size - 1 - i], z[k] is the length of the longest
  // common prefix of reversed and reversed[k, size); it stands in lengths[size - k]. [left, right)
  // is the match found so far that ends last: reversed[left, right) = reversed[0, right - left).
  const auto equal = [&](int64_t a, int64_t b) {
    const int32_t token_id = token_ids[size - 1 - a];
    return token_id != kNoTokenId && token_id == token_ids[size - 1 - b];
  };
  int64_t left = 0, right = 0;
  for (int64_t k = 1; k < size; ++k) {
    int64_t length = 0;
    if (k < right) length = std::min<int64_t>(right - k, lengths[size - (k - left)]);
    while (k + length < size && equal(length, k + length)) ++length;
    lengths[size - k] = static_cast<int32_t>(length);
    if (k + length > right) {
      left = k;
      right = k + length;
    }
  }
}

void ApplyDry(absl::Span<const int32_t> token_ids, const DryParameters& dry,
              HistoryScratch& scratch, absl::Span<float> logits) {
  const int64_t limit = CountSinceBreaker(token_ids, dry.breaker_token_ids);
  if (limit < dry.allowed_length) return;
  MeasureRepeats(token_ids, scratch.repeat_lengths);
  scratch.continuations.clear();
  // A token with nothing before it continues nothing.
  for (size_t i = 1; i < token_ids.size(); ++i) {
    const auto length = static_cast<int32_t>(std::min<int64_t>(scratch.repeat_lengths[i], limit));
    if (length >= dry.allowed_length && token_ids[i] != kNoTokenId &&
        !dry.breaker_token_ids.contains(token_ids[i]))
      scratch.continuations.push_back({token_ids[i], length});
  }
  std::sort(scratch.continuations.begin(), scratch.continuations.end());
  const int32_t max_exponent = MaxExponent(dry.base);
  for (size_t i = 0; i < scratch.continuations.size(); ++i) {
    const auto [token_id, length] = scratch.continuations[i];
    const bool longest =
        i + 1 == scratch.continuations.size() || scratch.continuations[i + 1].first != token_id;
    if (!longest) continue;
    const int32_t exponent = std::min(length - dry.allowed_length, max_exponent);
    logits[token_id] -= dry.multiplier * std::pow(dry.base, static_cast<float>(exponent));
  }
}

void BanRepeatedNgrams(absl::Span<const int32_t> token_ids, int64_t size, HistoryScratch& scratch,
                       absl::Span<float> logits) {
  if (static_cast<int64_t>(token_ids.size()) < size) return;
  MeasureRepeats(token_ids, scratch.repeat_lengths);
  for (size_t i = 0; i < token_ids.size(); ++i) {
    if (scratch.repeat_lengths[i] >= size - 1 && token_ids[i] != kNoTokenId)
      logits[token_ids[i]] = kBannedLogit;
  }
}

void BanSequences(absl::Span<const int32_t> token_ids,
                  absl::Span<const std::vector<int32_t>> sequences, absl::Span<float> logits) {
  for (const std::vector<int32_t>& sequence : sequences) {
    const size_t before = sequence.size() - 1;
    if (before > token_ids.size()) continue;
    if (std::equal(sequence.begin(), sequence.end() - 1, token_ids.end() - before))
      logits[sequence.back()] = kBannedLogit;
  }
}

}  // namespace phyllo
