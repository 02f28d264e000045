// Joins what knows whether the gateway can serve with what says so.
#ifndef PHYLLO_SERVICES_GATEWAY_SERVING_SWITCH_H_
#define PHYLLO_SERVICES_GATEWAY_SERVING_SWITCH_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "services/common/logger.h"
#include "services/common/server.h"

namespace phyllo {

// Keeps the latest state and hands it to a server that comes later and goes earlier. Thread-safe.
class ServingSwitch {
 public:
  explicit ServingSwitch(Logger& logger) : logger_(logger) {}

  void SetServing(bool serving) ABSL_LOCKS_EXCLUDED(mutex_) {
    logger_.Info(serving ? "path complete" : "path incomplete");
    // Under the lock, so that the server cannot go meanwhile; SetServing calls nothing of ours.
    const absl::MutexLock lock(&mutex_);
    serving_ = serving;
    if (server_ != nullptr) server_->SetServing(serving);
  }

  // Borrows `server` until the next call; null: there is none any more.
  void Attach(Server* server) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    server_ = server;
    if (server_ != nullptr) server_->SetServing(serving_);
  }

 private:
  Logger& logger_;
  absl::Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  Server* server_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_SERVING_SWITCH_H_
