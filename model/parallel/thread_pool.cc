// Invariants:
// - state_ holds a generation, whether its job is open, and how many workers are in it. The caller
//   writes the job, then opens a new generation (release). A worker joins by one compare-and-swap
//   that sees the job open and counts it in (acquire), at most once a generation; it leaves by
//   counting itself out (release). The caller closes the job when no task is left and returns when
//   nobody is in it (acquire). So a worker never reads a job that is not its generation's, and
//   nobody waits for a worker that has not joined.
// - A worker that sleeps is counted in sleeping_workers_ under mutex_, and it looks at state_ once
//   more under mutex_ before it sleeps; the caller takes mutex_ after it opened the generation. So
//   no wake-up is lost.
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
// The fields of state_.
constexpr uint64_t kShutDown = uint64_t{1} << 63;
constexpr uint64_t kOpen = uint64_t{1} << 16;
constexpr uint64_t kInside = kOpen - 1;              // number of workers in the job
constexpr uint64_t kGeneration = uint64_t{1} << 17;  // one generation

uint64_t GenerationOf(uint64_t state) { return (state & ~kShutDown) / kGeneration; }
// Polls between two looks at the clock: about a microsecond.
constexpr int kPollsPerClockRead = 32;

void PauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Binds the calling thread to the index-th CPU (modulo their number) of the process's set; failure
// only costs speed.
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
    return absl::InvalidArgumentError(
        absl::StrCat("num_threads is ", options.num_threads, ", must be 1 to ", kMaxThreads));
  }
  if (options.spin < absl::ZeroDuration() || options.spin > kMaxSpin) {
    return absl::InvalidArgumentError(absl::StrCat("spin is ", absl::FormatDuration(options.spin),
                                                   ", must be 0 to ",
                                                   absl::FormatDuration(kMaxSpin)));
  }
  return std::unique_ptr<ThreadPool>(new ThreadPool(options));
}

ThreadPool::ThreadPool(const Options& options)
    : num_threads_(options.num_threads), pin_(options.pin), spin_(options.spin) {
  threads_.reserve(static_cast<size_t>(num_threads_ - 1));
  for (int worker = 1; worker < num_threads_; ++worker) {
    threads_.emplace_back([this, worker] { WorkerLoop(worker); });
  }
}

ThreadPool::~ThreadPool() {
  state_.fetch_or(kShutDown, std::memory_order_release);
  {
    absl::MutexLock lock(&mutex_);
    wake_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::ParallelFor(int64_t num_tasks,
                             absl::FunctionRef<void(int64_t task, int worker)> function) {
  if (num_threads_ == 1 || num_tasks <= 1) {
    for (int64_t task = 0; task < num_tasks; ++task) function(task, 0);
    return;
  }
  function_ = &function;
  num_tasks_ = num_tasks;
  next_task_.store(0, std::memory_order_relaxed);
  const uint64_t generation = GenerationOf(state_.load(std::memory_order_relaxed)) + 1;
  state_.store(generation * kGeneration | kOpen, std::memory_order_release);
  {
    absl::MutexLock lock(&mutex_);
    if (sleeping_workers_ > 0) wake_.SignalAll();
  }
  RunTasks(0);
  state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto nobody_inside = [this] {
    return (state_.load(std::memory_order_acquire) & kInside) == 0;
  };
  // The last tasks run on other CPUs, or wait for one: give them ours after a while.
  while (!Spin(spin_, nobody_inside)) sched_yield();
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
  uint64_t seen = 0;
  while (true) {
    WaitForJob(seen);
    uint64_t state = state_.load(std::memory_order_acquire);
    if ((state & kShutDown) != 0) return;
    if ((state & kOpen) == 0 || GenerationOf(state) == seen)
      continue;  // it has been closed meanwhile
    if (!state_.compare_exchange_strong(state, state + 1, std::memory_order_acq_rel)) continue;
    seen = GenerationOf(state);
    RunTasks(worker);
    state_.fetch_sub(1, std::memory_order_release);
  }
}

bool ThreadPool::HasNews(uint64_t seen) const {
  const uint64_t state = state_.load(std::memory_order_acquire);
  return (state & kShutDown) != 0 || ((state & kOpen) != 0 && GenerationOf(state) != seen);
}

void ThreadPool::WaitForJob(uint64_t seen) {
  if (Spin(spin_, [&] { return HasNews(seen); })) return;
  absl::MutexLock lock(&mutex_);
  ++sleeping_workers_;
  while (!HasNews(seen)) wake_.Wait(&mutex_);
  --sleeping_workers_;
}

}  // namespace phyllo
