#include "clients/bench/sample_summary.h"

#include <algorithm>
#include <numeric>

namespace phyllo {
namespace {

// Of sorted values; percent in (0, 100].
double NearestRank(const std::vector<double>& sorted, int percent) {
  const size_t rank = (sorted.size() * percent + 99) / 100;  // from 1, rounded up
  return sorted[rank - 1];
}

}  // namespace

SampleSummary Summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {.count = static_cast<int64_t>(samples.size()),
          .mean = sum / static_cast<double>(samples.size()),
          .min = samples.front(),
          .p50 = NearestRank(samples, 50),
          .p90 = NearestRank(samples, 90),
          .p99 = NearestRank(samples, 99),
          .max = samples.back()};
}

double MedianOf(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

}  // namespace phyllo
