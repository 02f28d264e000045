#include "services/transformer/monitoring/step_watchdog.h"

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "services/transformer/engine/testing/engine_driver.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

TEST(IsStuckTest, OnlyWhileAStepTakesLongerThanTheLimit) {
  const absl::Time start = absl::UnixEpoch();
  EngineStats stats;
  EXPECT_FALSE(IsStuck(stats, start + absl::Hours(1), absl::Seconds(10)));
  stats.step_started_time = start;
  EXPECT_FALSE(IsStuck(stats, start + absl::Seconds(10), absl::Seconds(10)));
  EXPECT_TRUE(IsStuck(stats, start + absl::Seconds(11), absl::Seconds(10)));
}

TEST(StepWatchdogTest, TurnsUnhealthyDuringALongStepAndHealthyAfterIt) {
  FakeStepModel model(100, 4);
  EngineDriver driver(model);
  absl::Notification healthy_first, unhealthy, healthy_again;
  driver.Add(EngineDriver::Request({1}, 1));
  driver.Step();  // asks for the row
  driver.Advance(absl::Seconds(1));
  model.set_on_forward([&] {
    unhealthy.WaitForNotification();  // the step lasts until the watchdog has seen it; the clock
                                      // stands beyond the limit
    return absl::OkStatus();
  });
  const StepWatchdog watchdog(driver.engine(), /*limit=*/-absl::Seconds(1),
                              /*period=*/absl::Milliseconds(1), [&](bool healthy) {
                                if (!healthy_first.HasBeenNotified()) {
                                  EXPECT_TRUE(healthy);
                                  healthy_first.Notify();
                                } else if (!unhealthy.HasBeenNotified()) {
                                  EXPECT_FALSE(healthy);
                                  unhealthy.Notify();
                                } else if (!healthy_again.HasBeenNotified()) {
                                  EXPECT_TRUE(healthy);
                                  healthy_again.Notify();
                                }
                              });
  driver.Step();
  healthy_again.WaitForNotification();
}

}  // namespace
}  // namespace phyllo
