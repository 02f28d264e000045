#ifndef PHYLLO_MODEL_OPS_TESTING_REFERENCE_OPS_H_
#define PHYLLO_MODEL_OPS_TESTING_REFERENCE_OPS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/ops/activation.h"
#include "model/ops/rope.h"

// The formulas of model/ops written down plainly, in double, one row at a time: what the kernels
// are tested against. Pure functions.
namespace phyllo {

// x [d], weight [d].
inline std::vector<double> ReferenceRmsNorm(const std::vector<double>& x,
                                            const std::vector<double>& weight, double eps) {
  double mean_square = 0;
  for (double value : x) mean_square += value * value / static_cast<double>(x.size());
  std::vector<double> out(x.size());
  for (size_t j = 0; j < x.size(); ++j) out[j] = x[j] / std::sqrt(mean_square + eps) * weight[j];
  return out;
}

// x, weight, bias [d].
inline std::vector<double> ReferenceLayerNorm(const std::vector<double>& x,
                                              const std::vector<double>& weight,
                                              const std::vector<double>& bias, double eps) {
  double mean = 0, variance = 0;
  for (double value : x) mean += value / static_cast<double>(x.size());
  for (double value : x)
    variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  std::vector<double> out(x.size());
  for (size_t j = 0; j < x.size(); ++j)
    out[j] = (x[j] - mean) / std::sqrt(variance + eps) * weight[j] + bias[j];
  return out;
}

// One head x [hd], rotated by cos and sin [r / 2].
inline std::vector<double> ReferenceRope(RopePairs pairs, std::vector<double> x,
                                         const std::vector<double>& cos,
                                         const std::vector<double>& sin) {
  const size_t half = cos.size();
  const bool halves = pairs == RopePairs::kHalves;
  for (size_t i = 0; i < half; ++i) {
    double& first = x[halves ? i : 2 * i];
    double& second = x[halves ? i + half : 2 * i + 1];
    const double a = first, b = second;
    first = a * cos[i] - b * sin[i];
    second = b * cos[i] + a * sin[i];
  }
  return x;
}

inline double ReferenceActivation(ActivationKind kind, double x) {
  constexpr double kPi = 3.14159265358979323846;
  switch (kind) {
    case ActivationKind::kSilu:
      return x / (1 + std::exp(-x));
    case ActivationKind::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case ActivationKind::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x)));
    case ActivationKind::kRelu:
      return x < 0 ? 0 : x;
  }
  return 0;
}

// x [v].
inline double ReferenceLogSumExp(const std::vector<double>& x) {
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double value : x) sum += std::exp(value - max);
  return max + std::log(sum);
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_TESTING_REFERENCE_OPS_H_
