// Invariants:
// - A generation starts when the caller, having written function_ and num_tasks_ and reset next_task_ and running_workers_, increments
//   generation_ (release). It ends when running_workers_ is 0 (acquire). The caller does not return before, so no worker of an old
//   generation ever sees the job of a new one.
// - A worker that sleeps is counted in sleeping_workers_ under mutex_, and it looks at generation_ once more under mutex_ before it sleeps; the caller
//   takes mutex_ after it incremented generation_. So no wake-up is lost.
#include "model/parallel/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace phyllo {
namespace {

constexpr int kMaxThreads = 1024;
constexpr absl::Duration kMaxSpin = absl::Seconds(1);
constexpr int64_t kShutDown = -1;
// Polls between two looks at the clock: about a microsecond.
constexpr int kPollsPerClockRead = 32;

void PauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Binds the calling thread to the index-th CPU (modulo their number) of the process's set; failure only costs speed.
void PinThisThread(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  const int count = CPU_COUNT(&allowed);
  if (count == 0) return;
  int wanted = index % count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

// Polls `done` until it is true or `limit` has passed; returns the last answer.
bool Spin(absl::Duration limit, absl::FunctionRef<bool()> done) {
  if (done()) return true;
  if (limit <= absl::ZeroDuration()) return false;
  const absl::Time end = absl::Now() + limit;
  do {
    for (int i = 0; i < kPollsPerClockRead; ++i) {
      PauseCpu();
      if (done()) return true;
    }
  } while (absl::Now() < end);
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(const Options& options) {
  if (options.num_threads < 1 || options.num_threads > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat("num_threads is ", options.num_threads, ", must be 1 to ", kMaxThreads));
  }
  if (options.spin < absl::ZeroDuration() || options.spin > kMaxSpin) {
    return absl::InvalidArgumentError(
        absl::StrCat("spin is ", absl::FormatDuration(options.spin), ", must be 0 to ", absl::FormatDuration(kMaxSpin)));
  }
  return std::unique_ptr<ThreadPool>(new ThreadPool(options));
}

ThreadPool::ThreadPool(const Options& options) : num_threads_(options.num_threads), pin_(options.pin), spin_(options.spin) {
  threads_.reserve(static_cast<size_t>(num_threads_ - 1));
  for (int worker = 1; worker < num_threads_; ++worker) {
    threads_.emplace_back([this, worker] { WorkerLoop(worker); });
  }
}

ThreadPool::~ThreadPool() {
  generation_.store(kShutDown, std::memory_order_release);
  {
    absl::MutexLock lock(&mutex_);
    wake_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::ParallelFor(int64_t num_tasks, absl::FunctionRef<void(int64_t task, int worker)> function) {
  if (num_threads_ == 1 || num_tasks <= 1) {
    for (int64_t task = 0; task < num_tasks; ++task) function(task, 0);
    return;
  }
  function_ = &function;
  num_tasks_ = num_tasks;
  next_task_.store(0, std::memory_order_relaxed);
  running_workers_.store(num_threads_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  {
    absl::MutexLock lock(&mutex_);
    if (sleeping_workers_ > 0) wake_.SignalAll();
  }
  RunTasks(0);
  const auto finished = [this] { return running_workers_.load(std::memory_order_acquire) == 0; };
  // The last tasks run on other CPUs, or wait for one: give them ours after a while.
  while (!Spin(spin_, finished)) sched_yield();
}

void ThreadPool::RunTasks(int worker) {
  const absl::FunctionRef<void(int64_t, int)>& function = *function_;
  const int64_t num_tasks = num_tasks_;
  while (true) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= num_tasks) return;
    function(task, worker);
  }
}

void ThreadPool::WorkerLoop(int worker) {
  if (pin_) PinThisThread(worker);
  int64_t seen = 0;
  while (true) {
    seen = WaitForGeneration(seen);
    if (seen == kShutDown) return;
    RunTasks(worker);
    running_workers_.fetch_sub(1, std::memory_order_release);
  }
}

int64_t ThreadPool::WaitForGeneration(int64_t seen) {
  if (!Spin(spin_, [&] { return generation_.load(std::memory_order_acquire) != seen; })) {
    absl::MutexLock lock(&mutex_);
    ++sleeping_workers_;
    while (generation_.load(std::memory_order_acquire) == seen) wake_.Wait(&mutex_);
    --sleeping_workers_;
  }
  return generation_.load(std::memory_order_acquire);
}

}  // namespace phyllo
