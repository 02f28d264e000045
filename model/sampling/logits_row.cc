// Invariant: sums run in kLanes partial sums over blocks of kBlock elements, folded in one fixed
// order; the order depends on v alone.
#include "model/sampling/logits_row.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace phyllo {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kBlock = 4096;
constexpr size_t kSkipBlock = 256;  // values that are passed over together if none is large enough
constexpr uint32_t kExponentMask = 0x7f800000u;  // all ones in infinities and NaN only

bool IsFinite(float value) {
  return (std::bit_cast<uint32_t>(value) & kExponentMask) != kExponentMask;
}

// kLanes values that go through an operation together; the compiler lowers them to what the CPU
// has.
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Integers = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));

// The values from `begin` on, `padding` where the row has ended.
Floats LoadLanes(absl::Span<const float> values, int64_t begin, float padding) {
  Floats lanes = {};
  const int64_t count = static_cast<int64_t>(values.size()) - begin;
  if (count >= kLanes) {
    std::memcpy(&lanes, values.data() + begin, sizeof(lanes));
  } else {
    lanes = lanes + padding;
    std::memcpy(&lanes, values.data() + begin, count * sizeof(float));
  }
  return lanes;
}

float MaxOfLanes(Floats lanes) {
  float max = lanes[0];
  for (int64_t lane = 1; lane < kLanes; ++lane) max = std::max(max, lanes[lane]);
  return max;
}

// One pass over values, at least one.
struct Extreme {
  float max;  // if all are finite
  bool finite;
};
Extreme FindExtreme(absl::Span<const float> values) {
  constexpr auto kMask = static_cast<int32_t>(kExponentMask);
  Floats max = Floats{} + values[0];
  Integers not_finite = {};
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i += kLanes) {
    const Floats lanes = LoadLanes(values, i, values[0]);
    max = lanes > max ? lanes : max;
    not_finite |= (std::bit_cast<Integers>(lanes) & kMask) == kMask;
  }
  int32_t any = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) any |= not_finite[lane];
  return {.max = MaxOfLanes(max), .finite = any == 0};
}

absl::Status NotFinite(absl::Span<const float> logits) {
  const auto bad = std::find_if_not(logits.begin(), logits.end(), IsFinite);
  return absl::InternalError(absl::StrCat("logit ", bad - logits.begin(), " of ", logits.size(),
                                          " is ", *bad, "; the model's output is not finite"));
}

// 2^n * P(r) with n = round(x / ln 2), r = x - n ln 2 in [-0.35, 0.35] and P the degree-6 minimax
// polynomial of the Cephes library (expf).
Floats Exp(Floats x) {
  constexpr float kLowest = -87.3f;  // below, 2^n would leave the normal floats
  constexpr float kRounding =
      12582912.0f;  // 1.5 * 2^23: adding and subtracting it rounds to the nearest integer
  const Floats lowest = Floats{} + kLowest;
  const Floats clamped = x < lowest ? lowest : x;
  const Floats n = (clamped * 1.44269504f + kRounding) - kRounding;
  const Floats r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  Floats p = Floats{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const Floats scale = std::bit_cast<Floats>((__builtin_convertvector(n, Integers) + 127) << 23);
  return x < lowest ? Floats{} : p * scale;
}

// sum_i exp(values[i] - max), at most kBlock values.
double SumOfExponentials(absl::Span<const float> values, float max) {
  Floats sums = {};
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i += kLanes) {
    sums += Exp(LoadLanes(values, i, -std::numeric_limits<float>::infinity()) - max);
  }
  double sum = 0.0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

}  // namespace

float MaxOf(absl::Span<const float> values) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  Floats max = Floats{} + kNothing;
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i += kLanes) {
    const Floats lanes = LoadLanes(values, i, kNothing);
    max = lanes > max ? lanes : max;
  }
  return MaxOfLanes(max);
}

absl::StatusOr<LogitsSummary> SummarizeLogits(absl::Span<const float> logits) {
  const Extreme extreme = FindExtreme(logits);
  if (!extreme.finite) return NotFinite(logits);
  LogitsSummary summary;
  summary.max = extreme.max;
  double sum = 0.0;
  const int64_t size = logits.size();
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    sum += SumOfExponentials(logits.subspan(begin, std::min(kBlock, size - begin)), summary.max);
  }
  summary.log_sum_exp = static_cast<double>(summary.max) + std::log(sum);
  return summary;
}

absl::Status CheckFinite(absl::Span<const float> logits) {
  return FindExtreme(logits).finite ? absl::OkStatus() : NotFinite(logits);
}

void IncludeLogits(absl::Span<const float> logits, int32_t first_token_id, LargestLogit& largest) {
  const Extreme piece = FindExtreme(logits);
  if (!piece.finite) largest.finite = false;
  if (!largest.finite || piece.max < largest.logit) return;
  const auto place = std::find(logits.begin(), logits.end(), piece.max) - logits.begin();
  IncludeLargest({.token_id = first_token_id + static_cast<int32_t>(place), .logit = piece.max},
                 largest);
}

void IncludeLargest(const LargestLogit& other, LargestLogit& largest) {
  largest.finite = largest.finite && other.finite;
  if (other.logit > largest.logit ||
      (other.logit == largest.logit && other.token_id < largest.token_id)) {
    largest.token_id = other.token_id;
    largest.logit = other.logit;
  }
}

void ExpNonPositive(absl::Span<float> values) {
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i += kLanes) {
    const Floats lanes = Exp(LoadLanes(values, i, 0.0f));
    std::memcpy(values.data() + i, &lanes,
                std::min<int64_t>(kLanes, static_cast<int64_t>(values.size()) - i) * sizeof(float));
  }
}

int64_t RankOf(absl::Span<const float> logits, int32_t token_id) {
  const float own = logits[token_id];
  int64_t greater = 0;
  for (const float logit : logits) greater += logit > own ? 1 : 0;
  return 1 + greater;
}

std::vector<TokenLogprob> TopLogprobs(absl::Span<const float> logits, const LogitsSummary& summary,
                                      int64_t count) {
  // `top` is a heap whose front is the worst kept: a new token enters only if it is better, and
  // later ids lose ties.
  std::vector<TokenLogprob> top;
  if (count <= 0) return top;
  top.reserve(count);
  const auto better = [&](const TokenLogprob& a, const TokenLogprob& b) {
    const float logit_a = logits[a.token_id], logit_b = logits[b.token_id];
    return logit_a != logit_b ? logit_a > logit_b : a.token_id < b.token_id;
  };
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    if (static_cast<int64_t>(top.size()) < count) {
      top.push_back({.token_id = id});
      std::push_heap(top.begin(), top.end(), better);
    } else if (logits[id] > logits[top.front().token_id]) {
      std::pop_heap(top.begin(), top.end(), better);
      top.back() = {.token_id = id};
      std::push_heap(top.begin(), top.end(), better);
    }
  }
  std::sort_heap(top.begin(), top.end(), better);
  for (size_t i = 0; i < top.size(); ++i) {
    top[i].logprob = LogProbability(logits, summary, top[i].token_id);
    const bool tied = i > 0 && logits[top[i].token_id] == logits[top[i - 1].token_id];
    top[i].rank = tied ? top[i - 1].rank : static_cast<int64_t>(i) + 1;
  }
  return top;
}

int32_t ArgMax(absl::Span<const float> values) {
  const float max = MaxOf(values);
  return static_cast<int32_t>(std::find(values.begin(), values.end(), max) - values.begin());
}

float KthLargest(absl::Span<const float> values, int64_t count, std::vector<float>& scratch) {
  // Keeps up to 2 * count values above the running threshold; a selection halves them and raises
  // it. Values equal to the threshold need not enter: `count` values at or above it are held
  // already.
  scratch.clear();
  float threshold = -std::numeric_limits<float>::infinity();
  const auto shrink = [&] {
    std::nth_element(scratch.begin(), scratch.begin() + (count - 1), scratch.end(),
                     std::greater<float>());
    scratch.resize(count);
    threshold = scratch[count - 1];
  };
  const size_t capacity = static_cast<size_t>(2 * count + kLanes);
  for (size_t begin = 0; begin < values.size(); begin += kSkipBlock) {
    const absl::Span<const float> block = values.subspan(begin, kSkipBlock);
    if (MaxOf(block) <= threshold) continue;
    for (const float value : block) {
      if (value > threshold) {
        scratch.push_back(value);
        if (scratch.size() >= capacity) shrink();
      }
    }
  }
  if (static_cast<int64_t>(scratch.size()) < count) return -std::numeric_limits<float>::infinity();
  shrink();
  return threshold;
}

}  // namespace phyllo
