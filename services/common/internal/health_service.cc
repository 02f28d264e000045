// Invariants: a watcher has at most one operation under way (writing_ or finished_), and decides on
// the next one only when that is done; it reads the state when it writes, so changes that come
// faster than it writes are merged and never re-ordered. The lock of a watcher is taken before the
// lock of the service; the service calls watchers without its lock.
#include "services/common/internal/health_service.h"

#include <algorithm>
#include <utility>

namespace phyllo {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

}  // namespace

// One Watch call. Lives until gRPC has called OnDone and nobody wakes it any more. Thread-safe.
class HealthService::Watcher final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  Watcher(HealthService& service, std::string service_name)
      : service_(service), service_name_(std::move(service_name)) {}

  // Starts the next operation if there is news and none is under way.
  void Wake() ABSL_LOCKS_EXCLUDED(mutex_) {
    bool finish = false;
    bool cancelled = false;
    {
      const absl::MutexLock lock(&mutex_);
      if (writing_ || finished_) return;
      const State state = service_.StateOf(service_name_);
      cancelled = cancelled_;
      const bool up_to_date = wrote_ && response_.status() == state.status;
      finish = cancelled || (state.watches_ended && up_to_date);
      if (!finish && up_to_date) return;
      finished_ = finish;
      writing_ = !finish;
      wrote_ = true;
      if (!finish) response_.set_status(state.status);
    }
    if (!finish) {
      StartWrite(&response_);
    } else if (cancelled) {
      Finish(grpc::Status::CANCELLED);
    } else {
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down"));
    }
  }

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok) cancelled_ = true;
    }
    Wake();
  }

  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const absl::MutexLock lock(&mutex_);
      cancelled_ = true;
    }
    Wake();
  }

  void OnDone() override { service_.Remove(this); }

 private:
  HealthService& service_;
  const std::string service_name_;
  absl::Mutex mutex_;
  HealthCheckResponse response_;  // Guarded by mutex_ except while writing_, when gRPC reads it and
                                  // nobody writes it.
  bool wrote_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

HealthService::HealthService(std::vector<std::string> service_names)
    : service_names_(std::move(service_names)) {}

HealthService::~HealthService() = default;

void HealthService::SetServing(bool serving) {
  {
    const absl::MutexLock lock(&mutex_);
    if (draining_) return;
    serving_ = serving;
  }
  WakeWatchers();
}

void HealthService::BeginDrain() {
  {
    const absl::MutexLock lock(&mutex_);
    draining_ = true;
    serving_ = false;
  }
  WakeWatchers();
}

void HealthService::EndWatches() {
  {
    const absl::MutexLock lock(&mutex_);
    watches_ended_ = true;
  }
  WakeWatchers();
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (IsKnown(request->service())) {
    response->set_status(StateOf(request->service()).status);
    reactor->Finish(grpc::Status::OK);
  } else {
    reactor->Finish(
        grpc::Status(grpc::StatusCode::NOT_FOUND, "this server has no service of that name"));
  }
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext*, const HealthCheckRequest* request) {
  const auto watcher = std::make_shared<Watcher>(*this, request->service());
  {
    const absl::MutexLock lock(&mutex_);
    watchers_.push_back(watcher);
  }
  watcher->Wake();
  return watcher.get();
}

bool HealthService::IsKnown(const std::string& service_name) const {
  return service_name.empty() || std::find(service_names_.begin(), service_names_.end(),
                                           service_name) != service_names_.end();
}

HealthService::State HealthService::StateOf(const std::string& service_name) const {
  const absl::MutexLock lock(&mutex_);
  if (!IsKnown(service_name)) return {HealthCheckResponse::SERVICE_UNKNOWN, watches_ended_};
  return {serving_ ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING,
          watches_ended_};
}

void HealthService::WakeWatchers() {
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    const absl::MutexLock lock(&mutex_);
    watchers = watchers_;
  }
  for (const std::shared_ptr<Watcher>& watcher : watchers) watcher->Wake();
}

void HealthService::Remove(const Watcher* watcher) {
  std::shared_ptr<Watcher> last;  // Dies after the lock is released.
  const absl::MutexLock lock(&mutex_);
  const auto it = std::find_if(watchers_.begin(), watchers_.end(),
                               [watcher](const auto& entry) { return entry.get() == watcher; });
  if (it == watchers_.end()) return;
  last = std::move(*it);
  watchers_.erase(it);
}

}  // namespace phyllo
