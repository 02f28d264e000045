#include "clients/cli/terminal/interrupts.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace phyllo {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal_number);
  return signals;
}

}  // namespace

Interrupts::Interrupts() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread([this] { Watch(); });
}

Interrupts::~Interrupts() {
  stop_ = true;
  pthread_kill(watcher_.native_handle(), SIGHUP);
  watcher_.join();
  close(event_fd_);
}

void Interrupts::Reset() {
  uint64_t count;
  // Fails when there was no event.
  [[maybe_unused]] const ssize_t ignored = read(event_fd_, &count, sizeof(count));
  interrupted_ = terminated_.load();
}

void Interrupts::Add(std::shared_ptr<GenerateStream> stream) {
  {
    absl::MutexLock lock(&mutex_);
    streams_.push_back(stream);
  }
  if (interrupted_) stream->Cancel();
}

void Interrupts::Remove(const GenerateStream* stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                [stream](const auto& added) { return added.get() == stream; }),
                 streams_.end());
}

void Interrupts::Watch() {
  const sigset_t signals = Signals();
  while (true) {
    int signal_number = 0;
    if (sigwait(&signals, &signal_number) != 0) continue;
    if (stop_) return;
    if (interrupted_.exchange(true)) _exit(128 + signal_number);
    if (signal_number != SIGINT) terminated_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = write(event_fd_, &one, sizeof(one));
    std::vector<std::shared_ptr<GenerateStream>> streams;
    {
      absl::MutexLock lock(&mutex_);
      streams = streams_;
    }
    for (const std::shared_ptr<GenerateStream>& stream : streams) stream->Cancel();
  }
}

}  // namespace phyllo
