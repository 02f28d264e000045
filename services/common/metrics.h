// The metrics of one process, in Prometheus' data model. Families are registered once at start-up;
// the references that come back are kept by the code that counts, so that counting is one atomic
// addition and no look-up.
//
//   prometheus::Counter& tokens = metrics.AddCounter("phyllo_generation_tokens_total", "Tokens
//   generated."); tokens.Increment(3);
#ifndef PHYLLO_SERVICES_COMMON_METRICS_H_
#define PHYLLO_SERVICES_COMMON_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace phyllo {

using MetricLabels = std::map<std::string, std::string>;

// Upper bounds in seconds, 1 ms to 2560 s: a CPU needs the long tail.
std::vector<double> LatencyBuckets();
// Upper bounds in seconds, 0.1 ms to 10 s: gaps between tokens, steps, and small calls.
std::vector<double> StepLatencyBuckets();
// Upper bounds in tokens, 1 to 131072 in powers of two.
std::vector<double> TokenCountBuckets();

// Owns all families of a process. Registering the same name and labels twice yields the same
// object; a name that is not a valid Prometheus name is a programmer's mistake. Metrics live as
// long as the registry. Thread-safe.
class MetricRegistry {
 public:
  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  prometheus::Counter& AddCounter(const std::string& name, const std::string& help,
                                  const MetricLabels& labels = {});
  prometheus::Gauge& AddGauge(const std::string& name, const std::string& help,
                              const MetricLabels& labels = {});
  prometheus::Histogram& AddHistogram(const std::string& name, const std::string& help,
                                      const std::vector<double>& buckets,
                                      const MetricLabels& labels = {});

  // A family whose label values are only known when an event happens (method, code). Few and
  // bounded values only.
  prometheus::Family<prometheus::Counter>& AddCounterFamily(const std::string& name,
                                                            const std::string& help);
  prometheus::Family<prometheus::Histogram>& AddHistogramFamily(const std::string& name,
                                                                const std::string& help);

  // A gauge that is asked when somebody scrapes: `value` is called from the thread of SerializeText
  // (in a service, only while ServiceProcess::Run serves), and must neither block nor register
  // metrics.
  void AddGaugeFunction(const std::string& name, const std::string& help,
                        std::function<double()> value);

  // The text exposition format, version 0.0.4.
  std::string SerializeText() const;

 private:
  class GaugeFunctions;

  const std::unique_ptr<prometheus::Registry> registry_;
  const std::unique_ptr<GaugeFunctions> gauge_functions_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_METRICS_H_
