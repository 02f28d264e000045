#include "services/gateway/encodings/concurrently.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "services/gateway/async/task_group.h"

namespace phyllo {
namespace {

// Hands out indexes and keeps the error of the lowest. Thread-safe.
class IndexSource {
 public:
  explicit IndexSource(int64_t count) : count_(count) {}

  // The next index, or -1 if there is none.
  int64_t Next() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return next_ < count_ && error_.ok() ? next_++ : -1;
  }

  void Report(int64_t index, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (status.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (!error_.ok() && error_index_ < index) return;
    error_ = status;
    error_index_ = index;
  }

  absl::Status error() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return error_;
  }

 private:
  const int64_t count_;
  mutable absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  int64_t error_index_ ABSL_GUARDED_BY(mutex_) = 0;
};

Task<void> Work(IndexSource& indexes,
                const std::function<Task<absl::Status>(int64_t index)>& function) {
  for (int64_t index = indexes.Next(); index >= 0; index = indexes.Next()) {
    const absl::Status status = co_await function(index);
    indexes.Report(index, status);
  }
}

}  // namespace

Task<absl::Status> ForEachConcurrently(
    int64_t count, int worker_count,
    const std::function<Task<absl::Status>(int64_t index)>& function) {
  IndexSource indexes(count);
  TaskGroup workers;
  for (int i = 0; i < worker_count && i < count; ++i) workers.Start(Work(indexes, function));
  co_await workers.Join();
  co_return indexes.error();
}

}  // namespace phyllo
