#include "model/config/rope.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/config/rope_parameters.h"

// The references compute with float tensors and double scalars. At position 100000 one rounding of
// a frequency moves the angle by 0.006, so every tensor operation below is rounded to float exactly
// where theirs is; scalars stay double.

namespace phyllo {
namespace {

constexpr double kTwoPi = 6.283185307179586476925;

// rope_theta^(2i / rotary_dim), i < rotary_dim / 2. torch rounds the exponent, the base and the
// power to float.
float Power(double base, int64_t i, int64_t rotary_dim) {
  const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
  return static_cast<float>(
      std::pow(static_cast<double>(static_cast<float>(base)), static_cast<double>(exponent)));
}

void Unscaled(double base, absl::Span<float> out) {
  const int64_t half = static_cast<int64_t>(out.size());
  for (int64_t i = 0; i < half; ++i) out[i] = 1.0f / Power(base, i, 2 * half);
}

// The dimension, possibly fractional, whose rotation turns `rotations` times over the original
// length.
double CorrectionDimension(double rotations, const RopeParameters& rope, int64_t rotary_dim) {
  const double length = static_cast<double>(rope.original_max_position_embeddings);
  return static_cast<double>(rotary_dim) * std::log(length / (rotations * kTwoPi)) /
         (2.0 * std::log(rope.rope_theta));
}

float Ramp(int64_t i, double low, double high) {
  const float value =
      (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
  return std::clamp(value, 0.0f, 1.0f);
}

// transformers, _compute_yarn_parameters.
void ScaleYarn(const RopeParameters& rope, absl::Span<float> out) {
  const int64_t rotary_dim = 2 * static_cast<int64_t>(out.size());
  double low = CorrectionDimension(rope.beta_fast, rope, rotary_dim);
  double high = CorrectionDimension(rope.beta_slow, rope, rotary_dim);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotary_dim - 1));
  if (low == high) high += 0.001;
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    const float power = Power(rope.rope_theta, i, rotary_dim);
    const float interpolated = 1.0f / (static_cast<float>(rope.factor) * power);
    const float keep = 1.0f - Ramp(i, low, high);
    out[i] = interpolated * (1.0f - keep) + (1.0f / power) * keep;
  }
}

// MiniMind, precompute_freqs_cis from 2025-12 on: as YaRN, but the range is whole and ends at the
// last pair.
void ScaleMinimindYarn(const RopeParameters& rope, absl::Span<float> out) {
  const int64_t rotary_dim = 2 * static_cast<int64_t>(out.size());
  const double low =
      std::max(std::floor(CorrectionDimension(rope.beta_fast, rope, rotary_dim)), 0.0);
  const double high = std::min(std::ceil(CorrectionDimension(rope.beta_slow, rope, rotary_dim)),
                               static_cast<double>(rotary_dim / 2 - 1));
  const double width = std::max(high - low, 0.001);
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    const float ramp = Ramp(i, low, low + width);
    out[i] *= (1.0f - ramp) + ramp / static_cast<float>(rope.factor);
  }
}

// MiniMind, precompute_freqs_cis of 2025-10 and 2025-11: with b rising from beta_slow to beta_fast
// over the pairs and s = factor, pairs whose wavelength is within the original length are scaled by
// (b s - b + 1) / (b s), the others by 1 / s.
void ScaleMinimindFirstYarn(const RopeParameters& rope, absl::Span<float> out) {
  const int64_t half = static_cast<int64_t>(out.size());
  const double length = static_cast<double>(rope.original_max_position_embeddings);
  int64_t corrected = 0;
  while (corrected < half && kTwoPi / static_cast<double>(out[corrected]) <= length) ++corrected;
  const float factor = static_cast<float>(rope.factor);
  for (int64_t i = 0; i < half; ++i) {
    const float power = static_cast<float>(i) / static_cast<float>(std::max<int64_t>(half - 1, 1));
    const float beta = static_cast<float>(rope.beta_slow) +
                       static_cast<float>(rope.beta_fast - rope.beta_slow) * power;
    const float scale =
        i < corrected ? (beta * factor - beta + 1.0f) / (beta * factor) : 1.0f / factor;
    out[i] *= scale;
  }
}

// transformers, _compute_llama3_parameters.
void ScaleLlama3(const RopeParameters& rope, absl::Span<float> out) {
  const double length = static_cast<double>(rope.original_max_position_embeddings);
  const float low_wavelength = static_cast<float>(length / rope.low_freq_factor);
  const float high_wavelength = static_cast<float>(length / rope.high_freq_factor);
  const float factor = static_cast<float>(rope.factor);
  for (float& frequency : out) {
    const float wavelength = static_cast<float>(kTwoPi) / frequency;
    if (wavelength < high_wavelength) continue;
    if (wavelength > low_wavelength) {
      frequency /= factor;
      continue;
    }
    const float smooth =
        (static_cast<float>(length) / wavelength - static_cast<float>(rope.low_freq_factor)) /
        static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
    frequency = (1.0f - smooth) * frequency / factor + smooth * frequency;
  }
}

// transformers, _compute_longrope_parameters.
void ScaleLongrope(const RopeParameters& rope, int64_t length, absl::Span<float> out) {
  const int64_t half = static_cast<int64_t>(out.size());
  const std::vector<double>& factors =
      length > rope.original_max_position_embeddings ? rope.long_factor : rope.short_factor;
  for (int64_t i = 0; i < half; ++i)
    out[i] = 1.0f / (static_cast<float>(factors[i]) * Power(rope.rope_theta, i, 2 * half));
}

// YaRN section 3.4, and DeepSeek's ratio of two of them.
double YarnMscale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double AttentionFactor(const RopeParameters& rope) {
  if (rope.rope_type == RopeType::kMinimindYarn) return rope.attention_factor.value_or(1.0);
  if (rope.rope_type != RopeType::kYarn && rope.rope_type != RopeType::kLongrope) return 1.0;
  if (rope.attention_factor.has_value()) return *rope.attention_factor;
  if (rope.rope_type == RopeType::kLongrope) {
    const double original = static_cast<double>(rope.original_max_position_embeddings);
    return rope.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(rope.factor) / std::log(original));
  }
  const double mscale = rope.mscale.value_or(0.0);
  const double mscale_all_dim = rope.mscale_all_dim.value_or(0.0);
  if (mscale != 0.0 && mscale_all_dim != 0.0) {
    return YarnMscale(rope.factor, mscale) / YarnMscale(rope.factor, mscale_all_dim);
  }
  return YarnMscale(rope.factor, 1.0);
}

int64_t LengthLimit(const RopeParameters& rope, int64_t max_position_embeddings) {
  switch (rope.rope_type) {
    case RopeType::kDynamic:
      return max_position_embeddings;
    case RopeType::kLongrope:
      return rope.original_max_position_embeddings;
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

}  // namespace

absl::StatusOr<RopeFrequencies> RopeFrequencies::Create(const RopeParameters& parameters,
                                                        int64_t rotary_dim,
                                                        int64_t max_position_embeddings) {
  const int64_t smallest = parameters.rope_type == RopeType::kDynamic ? 4 : 2;
  if (rotary_dim < smallest || rotary_dim % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("RoPE ", RopeTypeName(parameters.rope_type),
                                                   " needs an even head_dim of at least ", smallest,
                                                   ", is ", rotary_dim));
  }
  if (parameters.rope_type == RopeType::kLongrope) {
    PHYLLO_CHECK(static_cast<int64_t>(parameters.short_factor.size()) == rotary_dim / 2 &&
                 static_cast<int64_t>(parameters.long_factor.size()) == rotary_dim / 2);
  }
  RopeFrequencies frequencies;
  frequencies.parameters_ = parameters;
  frequencies.max_position_embeddings_ = max_position_embeddings;
  frequencies.length_limit_ = LengthLimit(parameters, max_position_embeddings);
  frequencies.attention_factor_ = static_cast<float>(AttentionFactor(parameters));
  frequencies.inverse_frequencies_.resize(rotary_dim / 2);
  frequencies.ForLength(0, absl::MakeSpan(frequencies.inverse_frequencies_));
  for (const float frequency : frequencies.inverse_frequencies_) {
    if (!std::isfinite(frequency) || frequency <= 0.0f) {
      return absl::InvalidArgumentError(absl::StrCat(
          "RoPE ", RopeTypeName(parameters.rope_type), " with rope_theta ", parameters.rope_theta,
          " and factor ", parameters.factor, " gives a frequency of ", frequency));
    }
  }
  return frequencies;
}

void RopeFrequencies::ForLength(int64_t length, absl::Span<float> out) const {
  PHYLLO_CHECK(out.size() == inverse_frequencies_.size());
  double base = parameters_.rope_theta;
  if (parameters_.rope_type == RopeType::kDynamic) {
    const double longest = static_cast<double>(max_position_embeddings_);
    const double n = std::max(static_cast<double>(length), longest);
    const double r = static_cast<double>(rotary_dim());
    base *= std::pow(parameters_.factor * n / longest - (parameters_.factor - 1.0), r / (r - 2.0));
  }
  Unscaled(base, out);
  switch (parameters_.rope_type) {
    case RopeType::kDefault:
    case RopeType::kDynamic:
      break;
    case RopeType::kLinear:
      for (float& frequency : out) frequency /= static_cast<float>(parameters_.factor);
      break;
    case RopeType::kYarn:
      ScaleYarn(parameters_, out);
      break;
    case RopeType::kLlama3:
      ScaleLlama3(parameters_, out);
      break;
    case RopeType::kLongrope:
      ScaleLongrope(parameters_, length, out);
      break;
    case RopeType::kMinimindYarn:
      ScaleMinimindYarn(parameters_, out);
      break;
    case RopeType::kMinimindFirstYarn:
      ScaleMinimindFirstYarn(parameters_, out);
      break;
  }
}

void ComputeRopeRow(absl::Span<const float> inverse_frequencies, int64_t position,
                    float attention_factor, absl::Span<float> cos, absl::Span<float> sin) {
  PHYLLO_CHECK(cos.size() == inverse_frequencies.size() &&
               sin.size() == inverse_frequencies.size());
  for (size_t i = 0; i < inverse_frequencies.size(); ++i) {
    const float angle = static_cast<float>(position) * inverse_frequencies[i];
    cos[i] = static_cast<float>(std::cos(static_cast<double>(angle))) * attention_factor;
    sin[i] = static_cast<float>(std::sin(static_cast<double>(angle))) * attention_factor;
  }
}

}  // namespace phyllo
