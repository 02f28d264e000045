#include "services/common/internal/termination_signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace phyllo {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // Sent by the destructor to its own thread only, to end the wait.
  sigaddset(&signals, SIGUSR2);
  return signals;
}

}  // namespace

TerminationSignals::TerminationSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread([this] { Watch(); });
}

TerminationSignals::~TerminationSignals() {
  stop_ = true;
  pthread_kill(watcher_.native_handle(), SIGUSR2);
  watcher_.join();
}

void TerminationSignals::WaitForFirst() {
  drain_on_first_ = true;
  first_.WaitForNotification();
}

void TerminationSignals::Watch() {
  const sigset_t signals = StopSignals();
  while (!stop_) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0 || signal == SIGUSR2) continue;
    if (!drain_on_first_ || first_.HasBeenNotified()) _exit(128 + signal);
    first_.Notify();
  }
}

}  // namespace phyllo
