#include "clients/cli/terminal/interrupts.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

constexpr int kLongMs = 20'000;

class FakeStream final : public GenerateStream {
 public:
  absl::StatusOr<std::optional<gateway::v1::GenerateResponse>> Next() override {
    return absl::UnimplementedError("not read here");
  }
  // May come twice: from the thread that adds and from the one that waits for signals.
  void Cancel() override {
    if (!is_cancelled_.exchange(true)) cancelled.Notify();
  }

  absl::Notification cancelled;

 private:
  std::atomic<bool> is_cancelled_{false};
};

bool WaitForEvent(const Interrupts& interrupts) {
  pollfd event = {interrupts.event_fd(), POLLIN, 0};
  return poll(&event, 1, kLongMs) == 1;
}

TEST(InterruptsTest, SigintInterruptsWithoutTerminating) {
  Interrupts interrupts;
  EXPECT_FALSE(interrupts.interrupted());
  kill(getpid(), SIGINT);
  ASSERT_TRUE(WaitForEvent(interrupts));
  EXPECT_TRUE(interrupts.interrupted());
  EXPECT_FALSE(interrupts.terminated());
}

TEST(InterruptsTest, SigtermTerminatesAndResetDoesNotForgetIt) {
  Interrupts interrupts;
  kill(getpid(), SIGTERM);
  ASSERT_TRUE(WaitForEvent(interrupts));
  EXPECT_TRUE(interrupts.terminated());
  interrupts.Reset();
  EXPECT_TRUE(interrupts.interrupted());
}

TEST(InterruptsTest, ResetForgetsAnInterrupt) {
  Interrupts interrupts;
  kill(getpid(), SIGINT);
  ASSERT_TRUE(WaitForEvent(interrupts));
  interrupts.Reset();
  EXPECT_FALSE(interrupts.interrupted());
  pollfd event = {interrupts.event_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 0), 0);
}

TEST(InterruptsTest, CancelsAddedStreams) {
  Interrupts interrupts;
  const auto stream = std::make_shared<FakeStream>();
  interrupts.Add(stream);
  kill(getpid(), SIGINT);
  EXPECT_TRUE(stream->cancelled.WaitForNotificationWithTimeout(absl::Milliseconds(kLongMs)));
}

TEST(InterruptsTest, CancelsAStreamAddedAfterTheInterrupt) {
  Interrupts interrupts;
  kill(getpid(), SIGINT);
  ASSERT_TRUE(WaitForEvent(interrupts));
  const auto stream = std::make_shared<FakeStream>();
  interrupts.Add(stream);
  EXPECT_TRUE(stream->cancelled.HasBeenNotified());
}

TEST(InterruptsTest, LeavesRemovedStreamsAlone) {
  Interrupts interrupts;
  const auto removed = std::make_shared<FakeStream>();
  const auto kept = std::make_shared<FakeStream>();
  interrupts.Add(removed);
  interrupts.Add(kept);
  interrupts.Remove(removed.get());
  kill(getpid(), SIGINT);
  ASSERT_TRUE(kept->cancelled.WaitForNotificationWithTimeout(absl::Milliseconds(kLongMs)));
  EXPECT_FALSE(removed->cancelled.HasBeenNotified());
}

TEST(InterruptsDeathTest, SecondSignalEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Interrupts interrupts;
        kill(getpid(), SIGINT);
        WaitForEvent(interrupts);
        kill(getpid(), SIGINT);
        while (true) pause();
      },
      ::testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace phyllo
