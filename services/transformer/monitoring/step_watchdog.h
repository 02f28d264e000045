// Says when the engine is stuck.
#ifndef PHYLLO_SERVICES_TRANSFORMER_MONITORING_STEP_WATCHDOG_H_
#define PHYLLO_SERVICES_TRANSFORMER_MONITORING_STEP_WATCHDOG_H_

#include <functional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "services/transformer/engine/engine.h"

namespace phyllo {

// Whether a step has been computing for longer than `limit` at time `now` of the engine's clock.
inline bool IsStuck(const EngineStats& stats, absl::Time now, absl::Duration limit) {
  return stats.step_started_time && now - *stats.step_started_time > limit;
}

// Looks at the engine from a thread of its own and calls `on_change(healthy)` whenever the answer
// changes, the first time with true.
class StepWatchdog {
 public:
  // Borrows the engine. Looks every `period`.
  StepWatchdog(const Engine& engine, absl::Duration limit, absl::Duration period,
               std::function<void(bool healthy)> on_change);
  // Ends the thread.
  ~StepWatchdog();
  StepWatchdog(const StepWatchdog&) = delete;
  StepWatchdog& operator=(const StepWatchdog&) = delete;

 private:
  absl::Notification stop_;
  std::thread thread_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_MONITORING_STEP_WATCHDOG_H_
