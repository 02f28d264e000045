#ifndef PHYLLO_MODEL_PARALLEL_THREAD_POOL_H_
#define PHYLLO_MODEL_PARALLEL_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace phyllo {

// A fixed set of threads for the step's arithmetic. The caller is worker 0 and takes part; tasks
// are claimed one by one from an atomic counter, and a worker that does not come in time is not
// waited for, so a core that is taken away for a moment delays only the task it holds. Results must
// not depend on which worker runs which task. Idle workers spin for Options::spin and then sleep.
// Thread-compatible: one ParallelFor at a time.
class ThreadPool {
 public:
  struct Options {
    // Workers including the caller, 1 to 1024.
    int num_threads = 1;
    // Binds worker i > 0 to the i-th CPU of the process's CPU set; the caller is never bound.
    bool pin = false;
    // How long an idle worker polls before it sleeps, up to a second; 0 never polls.
    absl::Duration spin = absl::Microseconds(50);
  };

  // INVALID_ARGUMENT when num_threads or spin is out of range.
  static absl::StatusOr<std::unique_ptr<ThreadPool>> Create(const Options& options);

  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Calls function(task, worker) once for every task in [0, num_tasks), worker in [0,
  // num_threads()), and returns when all have returned; what they wrote is visible to the caller.
  // No two calls with the same worker overlap, so per-worker scratch needs no lock. The function
  // must not call ParallelFor of this pool and must not throw. Does not allocate.
  void ParallelFor(int64_t num_tasks, absl::FunctionRef<void(int64_t task, int worker)> function);

 private:
  explicit ThreadPool(const Options& options);

  void WorkerLoop(int worker);
  void RunTasks(int worker);
  // Returns when there is a job newer than generation `seen` to join, or the pool shuts down.
  void WaitForJob(uint64_t seen) ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasNews(uint64_t seen) const;

  const int num_threads_;
  const bool pin_;
  const absl::Duration spin_;

  // The current job: written by the caller before it opens the job's generation, read by workers
  // that have joined it.
  const absl::FunctionRef<void(int64_t, int)>* function_ = nullptr;
  int64_t num_tasks_ = 0;

  alignas(64) std::atomic<uint64_t> state_{
      0};  // generation, open bit, number of workers in it: see thread_pool.cc
  alignas(64) std::atomic<int64_t> next_task_{0};

  absl::Mutex mutex_;
  absl::CondVar wake_;
  int sleeping_workers_ ABSL_GUARDED_BY(mutex_) = 0;

  std::vector<std::thread> threads_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PARALLEL_THREAD_POOL_H_
