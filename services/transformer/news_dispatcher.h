// Carries the step thread's "there is news" to a thread that may take its time.
#ifndef PHYLLO_SERVICES_TRANSFORMER_NEWS_DISPATCHER_H_
#define PHYLLO_SERVICES_TRANSFORMER_NEWS_DISPATCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "services/common/stopwatch.h"
#include "services/transformer/engine/sequence_outbox.h"

namespace phyllo {

// Who wants to be told.
class NewsReader {
 public:
  virtual ~NewsReader() = default;
  // Called on the dispatcher's thread. Must not block for long: all readers share it.
  virtual void OnNews() = 0;
};

// How long news that can wait does so after `reader_count` readers were told of such news together:
// `interval`, or longer when messages to so many would else take more than an eighth of
// `cpu_count` > 0 CPUs. 0 if `interval` is 0.
absl::Duration NewsPause(absl::Duration interval, int64_t reader_count, double cpu_count);

// One thread that calls readers in the order they were posted: at once, or, those whose news can
// wait, together, after a NewsPause since the last such time. A message costs more than a step of a
// small model; so tokens that come faster than people read leave together. Thread-safe.
class NewsDispatcher {
 public:
  // With an interval of 0 nobody waits. `cpu_count` > 0: what HostResources::CpuCount says.
  NewsDispatcher(absl::Duration interval, double cpu_count);
  // Calls every reader that was posted, then ends.
  ~NewsDispatcher();
  NewsDispatcher(const NewsDispatcher&) = delete;
  NewsDispatcher& operator=(const NewsDispatcher&) = delete;

  // Readers that are gone by then are skipped.
  void Post(std::weak_ptr<NewsReader> reader, NewsUrgency urgency) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Readers = std::vector<std::weak_ptr<NewsReader>>;

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until somebody is to be called. Returns nobody once the dispatcher has stopped.
  Readers WaitForReaders() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasUrgentWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || !now_.empty(); }
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return HasUrgentWork() || !waiting_.empty();
  }

  const absl::Duration interval_;
  const double cpu_count_;
  absl::Mutex mutex_;
  Readers now_ ABSL_GUARDED_BY(mutex_);
  Readers waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<Stopwatch> since_called_ ABSL_GUARDED_BY(mutex_);  // those that waited
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);                   // since then
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_NEWS_DISPATCHER_H_
