// Many measured values in a few numbers.
#ifndef PHYLLO_CLIENTS_BENCH_SAMPLE_SUMMARY_H_
#define PHYLLO_CLIENTS_BENCH_SAMPLE_SUMMARY_H_

#include <cstdint>
#include <vector>

namespace phyllo {

// A percentile is a value that was measured: the least that is not below that share of all (nearest
// rank), so with few values p99 is the greatest. All are 0 if there was no value.
struct SampleSummary {
  int64_t count = 0;
  double mean = 0;
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

SampleSummary Summarize(std::vector<double> samples);

// The middle value, or the mean of the two in the middle. Requires at least one.
double MedianOf(std::vector<double> samples);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_SAMPLE_SUMMARY_H_
