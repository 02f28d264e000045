// The engine's numbers in Prometheus' data model.
#ifndef PHYLLO_SERVICES_TRANSFORMER_MONITORING_ENGINE_METRICS_H_
#define PHYLLO_SERVICES_TRANSFORMER_MONITORING_ENGINE_METRICS_H_

#include "model/base/memory_budget.h"
#include "services/common/metrics.h"
#include "services/transformer/engine/engine.h"

namespace phyllo {

// Counts what the engine reports. Create before the engine, whose options point here. Thread-safe.
class EngineMetrics final : public EngineObserver {
 public:
  // Borrows the registry.
  explicit EngineMetrics(MetricRegistry& registry);

  void OnStep(const StepReport& report) override;
  void OnFinished(const SequenceResult& result) override;

  // Gauges of the load, read from `engine` and `request_memory` when somebody scrapes. Borrows
  // both.
  void AddGauges(const Engine& engine, const MemoryBudget& request_memory);

 private:
  MetricRegistry& registry_;
  prometheus::Histogram& step_seconds_;
  prometheus::Histogram& step_rows_;
  prometheus::Counter& prefill_tokens_;
  prometheus::Counter& decode_tokens_;
  prometheus::Counter& drafted_tokens_;
  prometheus::Counter& accepted_tokens_;
  prometheus::Counter& preemptions_;
  prometheus::Counter& prefix_queries_;
  prometheus::Counter& prefix_hits_;
  prometheus::Counter& prefix_evictions_;
  prometheus::Family<prometheus::Counter>& finished_;
  prometheus::Histogram& queue_seconds_;
  prometheus::Histogram& prefill_seconds_;
  prometheus::Histogram& decode_seconds_;
  prometheus::Histogram& time_to_first_token_seconds_;
  prometheus::Histogram& time_per_output_token_seconds_;
  prometheus::Histogram& prompt_tokens_;
  prometheus::Histogram& generated_tokens_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_MONITORING_ENGINE_METRICS_H_
