#include "services/transformer/monitoring/step_watchdog.h"

#include <utility>

namespace phyllo {

StepWatchdog::StepWatchdog(const Engine& engine, absl::Duration limit, absl::Duration period,
                           std::function<void(bool healthy)> on_change)
    : thread_([this, &engine, limit, period, on_change = std::move(on_change)] {
        bool healthy = true;
        on_change(healthy);
        while (!stop_.WaitForNotificationWithTimeout(period)) {
          const bool stuck = IsStuck(engine.stats(), engine.now(), limit);
          if (stuck == healthy) on_change(healthy = !stuck);
        }
      }) {}

StepWatchdog::~StepWatchdog() {
  stop_.Notify();
  thread_.join();
}

}  // namespace phyllo
