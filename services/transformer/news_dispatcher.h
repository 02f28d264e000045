// Carries the step thread's "there is news" to a thread that may take its time.
#ifndef PHYLLO_SERVICES_TRANSFORMER_NEWS_DISPATCHER_H_
#define PHYLLO_SERVICES_TRANSFORMER_NEWS_DISPATCHER_H_

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace phyllo {

// Who wants to be told.
class NewsReader {
 public:
  virtual ~NewsReader() = default;
  // Called on the dispatcher's thread. Must not block for long: all readers share it.
  virtual void OnNews() = 0;
};

// One thread that calls readers in the order they were posted. Thread-safe.
class NewsDispatcher {
 public:
  NewsDispatcher();
  // Calls every reader that was posted, then ends.
  ~NewsDispatcher();
  NewsDispatcher(const NewsDispatcher&) = delete;
  NewsDispatcher& operator=(const NewsDispatcher&) = delete;

  // Returns at once; a reader that is gone by then is skipped.
  void Post(std::weak_ptr<NewsReader> reader) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || !posted_.empty(); }

  absl::Mutex mutex_;
  std::vector<std::weak_ptr<NewsReader>> posted_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_NEWS_DISPATCHER_H_
