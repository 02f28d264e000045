#include "model/onednn/integer/quantize.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace phyllo {
namespace {

constexpr int kMaxMultiplier = 15;

// The largest |w|; NaN if w has NaN or infinity.
float LargestMagnitude(absl::Span<const float> w) {
  float largest = 0.0f;
  bool finite = true;
  for (const float value : w) {
    const float magnitude = std::abs(value);
    finite = finite && magnitude <= std::numeric_limits<float>::max();
    largest = std::max(largest, magnitude);
  }
  return finite ? largest : std::numeric_limits<float>::quiet_NaN();
}

// Quantising groups of 32 in the search below; eight lanes, whose sums are added in one order.
struct Group {
  __m256 w[4];
};

Group LoadGroup(const float* w) {
  return {{_mm256_loadu_ps(w), _mm256_loadu_ps(w + 8), _mm256_loadu_ps(w + 16),
           _mm256_loadu_ps(w + 24)}};
}

// w / step rounded to nearest even, in [-8, 7].
__m256 RoundToFourBits(__m256 w, __m256 inverse_step) {
  const __m256 rounded = _mm256_round_ps(_mm256_mul_ps(w, inverse_step),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return _mm256_min_ps(_mm256_max_ps(rounded, _mm256_set1_ps(-8.0f)), _mm256_set1_ps(7.0f));
}

// Sum of the eight lanes, as a tree.
float SumOfLanes(__m256 lanes) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// The sum of (w - step * q)² over a group.
float SquaredError(const Group& group, float step) {
  const __m256 steps = _mm256_set1_ps(step);
  const __m256 inverse = _mm256_set1_ps(1.0f / step);
  __m256 sum = _mm256_setzero_ps();
  for (const __m256 w : group.w) {
    const __m256 error = _mm256_fnmadd_ps(RoundToFourBits(w, inverse), steps, w);
    sum = _mm256_fmadd_ps(error, error, sum);
  }
  return SumOfLanes(sum);
}

struct Choice {
  float error = 0.0f;
  uint8_t multiplier = 0;
};

// The multiplier of least error for a group with the largest magnitude `largest` under scale c. The
// best step lies between 0.55 and 1.15 of what makes 7.5 the largest q: a larger one wastes range,
// a smaller one clips more than it gains.
Choice ChooseMultiplier(const Group& group, float largest, float c) {
  const float ideal = largest / (7.5f * c);
  const int first = std::clamp(static_cast<int>(0.55f * ideal), 1, kMaxMultiplier);
  const int last = std::clamp(static_cast<int>(1.15f * ideal) + 1, first, kMaxMultiplier);
  Choice best{.error = std::numeric_limits<float>::infinity()};
  for (int multiplier = first; multiplier <= last; ++multiplier) {
    const float error = SquaredError(group, c * static_cast<float>(multiplier));
    if (error < best.error) best = {error, static_cast<uint8_t>(multiplier)};
  }
  return best;
}

// Whole groups: the last one is filled up with zeros.
std::vector<Group> LoadGroups(absl::Span<const float> w) {
  std::vector<Group> groups;
  groups.reserve((w.size() + kInt4Group - 1) / kInt4Group);
  size_t begin = 0;
  for (; begin + kInt4Group <= w.size(); begin += kInt4Group)
    groups.push_back(LoadGroup(w.data() + begin));
  if (begin < w.size()) {
    float last[kInt4Group] = {};
    std::copy(w.begin() + begin, w.end(), last);
    groups.push_back(LoadGroup(last));
  }
  return groups;
}

float LargestOf(const Group& group) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  __m256 largest = _mm256_setzero_ps();
  for (const __m256 w : group.w) largest = _mm256_max_ps(largest, _mm256_andnot_ps(sign, w));
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, largest);
  return *std::max_element(lanes, lanes + 8);
}

// Writes the multipliers of least error under scale c. Returns the error, or infinity as soon as
// it is `limit` or more.
float ChooseMultipliers(absl::Span<const Group> groups, absl::Span<const float> largest, float c,
                        float limit, absl::Span<uint8_t> multipliers) {
  float error = 0.0f;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Choice choice = largest[g] > 0.0f ? ChooseMultiplier(groups[g], largest[g], c) : Choice{};
    multipliers[g] = choice.multiplier;
    error += choice.error;
    if (error >= limit) return std::numeric_limits<float>::infinity();
  }
  return error;
}

// Writes q for the steps c * multipliers. Returns the factor of c that lessens the error most.
float WriteFourBits(absl::Span<const Group> groups, float c, absl::Span<const uint8_t> multipliers,
                    absl::Span<int8_t> q) {
  double product = 0.0, square = 0.0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const float step = c * static_cast<float>(multipliers[g]);
    const __m256 inverse = _mm256_set1_ps(multipliers[g] > 0 ? 1.0f / step : 0.0f);
    alignas(32) float w[kInt4Group], rounded[kInt4Group];
    for (int i = 0; i < 4; ++i) {
      _mm256_store_ps(w + 8 * i, groups[g].w[i]);
      _mm256_store_ps(rounded + 8 * i, RoundToFourBits(groups[g].w[i], inverse));
    }
    const size_t begin = g * kInt4Group;
    for (size_t i = 0; i < std::min<size_t>(kInt4Group, q.size() - begin); ++i) {
      q[begin + i] = static_cast<int8_t>(rounded[i]);
      product += double{w[i]} * rounded[i] * step;
      square += double{rounded[i]} * rounded[i] * step * step;
    }
  }
  return square > 0.0 ? static_cast<float>(product / square) : 1.0f;
}

}  // namespace

float QuantizeToInt8(absl::Span<const float> w, absl::Span<int8_t> q) {
  constexpr float kLargest = 127.0f;
  const float scale = LargestMagnitude(w) / kLargest;
  if (!(scale > 0.0f)) {
    std::fill(q.begin(), q.end(), int8_t{0});
    return scale;
  }
  for (size_t i = 0; i < w.size(); ++i) {
    // A scale that is subnormal is rounded so much that quotients exceed 127.
    const float rounded = std::nearbyint(w[i] / scale);
    q[i] = static_cast<int8_t>(std::min(std::max(rounded, -kLargest), kLargest));
  }
  return scale;
}

float QuantizeToInt4(absl::Span<const float> w, absl::Span<uint8_t> multipliers,
                     absl::Span<int8_t> q) {
  constexpr float kSmallest = 1e-30f;  // steps and their squares stay normal
  std::fill(q.begin(), q.end(), int8_t{0});
  std::fill(multipliers.begin(), multipliers.end(), uint8_t{0});
  const float row_largest = LargestMagnitude(w);
  if (!(row_largest >= kSmallest)) return row_largest * 0.0f;
  // Errors are of values near 1, so that their squares neither overflow nor vanish.
  const float unit = std::ldexp(1.0f, std::ilogb(row_largest));
  std::vector<float> units(w.size());
  for (size_t i = 0; i < w.size(); ++i) units[i] = w[i] / unit;
  const std::vector<Group> groups = LoadGroups(units);
  std::vector<float> largest;
  for (const Group& group : groups) largest.push_back(LargestOf(group));

  // From the scale that makes the largest multiplier fit the largest group downwards.
  constexpr int kScales = 10;
  const float widest = row_largest / unit / (7.5f * kMaxMultiplier);
  float best_c = widest;
  float least = std::numeric_limits<float>::infinity();
  std::vector<uint8_t> chosen(groups.size());
  for (int i = 0; i < kScales; ++i) {
    const float c = widest * (1.0f - 0.05f * static_cast<float>(i));
    const float error = ChooseMultipliers(groups, largest, c, least, absl::MakeSpan(chosen));
    if (error >= least) continue;
    least = error;
    best_c = c;
    std::copy(chosen.begin(), chosen.end(), multipliers.begin());
  }
  return unit * best_c * WriteFourBits(groups, best_c, multipliers, q);
}

}  // namespace phyllo
