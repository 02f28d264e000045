#include "services/common/metrics.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "prometheus/metric_type.h"
#include "prometheus/text_serializer.h"

namespace phyllo {

std::vector<double> LatencyBuckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
          2.5,   5,      10,    20,   40,    80,   160, 640,  2560};
}

std::vector<double> StepLatencyBuckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
}

std::vector<double> TokenCountBuckets() {
  std::vector<double> bounds;
  for (double bound = 1; bound <= 131072; bound *= 2) bounds.push_back(bound);
  return bounds;
}

// The gauges whose values are functions. Thread-safe; the functions run without the lock.
class MetricRegistry::GaugeFunctions {
 public:
  void Add(const std::string& name, const std::string& help, std::function<double()> value)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    gauges_.push_back({name, help, std::move(value)});
  }

  std::vector<prometheus::MetricFamily> Collect() const ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<GaugeFunction> gauges;
    {
      const absl::MutexLock lock(&mutex_);
      gauges = gauges_;
    }
    std::vector<prometheus::MetricFamily> families;
    for (const GaugeFunction& gauge : gauges) {
      prometheus::ClientMetric metric;
      metric.gauge.value = gauge.value();
      families.push_back({gauge.name, gauge.help, prometheus::MetricType::Gauge, {metric}});
    }
    return families;
  }

 private:
  struct GaugeFunction {
    std::string name;
    std::string help;
    std::function<double()> value;
  };

  mutable absl::Mutex mutex_;
  std::vector<GaugeFunction> gauges_ ABSL_GUARDED_BY(mutex_);
};

MetricRegistry::MetricRegistry()
    : registry_(std::make_unique<prometheus::Registry>()),
      gauge_functions_(std::make_unique<GaugeFunctions>()) {}

MetricRegistry::~MetricRegistry() = default;

prometheus::Counter& MetricRegistry::AddCounter(const std::string& name, const std::string& help,
                                                const MetricLabels& labels) {
  return AddCounterFamily(name, help).Add(labels);
}

prometheus::Gauge& MetricRegistry::AddGauge(const std::string& name, const std::string& help,
                                            const MetricLabels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(*registry_).Add(labels);
}

prometheus::Histogram& MetricRegistry::AddHistogram(const std::string& name,
                                                    const std::string& help,
                                                    const std::vector<double>& buckets,
                                                    const MetricLabels& labels) {
  return AddHistogramFamily(name, help).Add(labels, buckets);
}

prometheus::Family<prometheus::Counter>& MetricRegistry::AddCounterFamily(const std::string& name,
                                                                          const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry_);
}

prometheus::Family<prometheus::Histogram>& MetricRegistry::AddHistogramFamily(
    const std::string& name, const std::string& help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(*registry_);
}

void MetricRegistry::AddGaugeFunction(const std::string& name, const std::string& help,
                                      std::function<double()> value) {
  gauge_functions_->Add(name, help, std::move(value));
}

std::string MetricRegistry::SerializeText() const {
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  for (prometheus::MetricFamily& family : gauge_functions_->Collect())
    families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace phyllo
