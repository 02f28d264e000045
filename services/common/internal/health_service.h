// grpc.health.v1 for our servers.
#ifndef PHYLLO_SERVICES_COMMON_INTERNAL_HEALTH_SERVICE_H_
#define PHYLLO_SERVICES_COMMON_INTERNAL_HEALTH_SERVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace phyllo {

// One state for the empty name and for a fixed list of service names; NOT_SERVING until told
// otherwise. gRPC's own health service is not used for two reasons: it says SERVING from the first
// moment, and its watchers keep a draining server alive until the drain times out. Thread-safe;
// runs on gRPC's callback threads, so it answers while every handler thread is busy.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  explicit HealthService(std::vector<std::string> service_names);
  ~HealthService() override;

  void SetServing(bool serving) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_SERVING for good; every Watch gets the news.
  void BeginDrain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends every Watch, present and future, with UNAVAILABLE. Follows BeginDrain.
  void EndWatches() ABSL_LOCKS_EXCLUDED(mutex_);

  // The state of `request`'s service; NOT_FOUND if the server has no such service.
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  // The state now and after every change; SERVICE_UNKNOWN, and no end, if the server has no such
  // service.
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  class Watcher;
  struct State {
    grpc::health::v1::HealthCheckResponse::ServingStatus status;
    bool watches_ended;
  };

  bool IsKnown(const std::string& service_name) const;
  State StateOf(const std::string& service_name) const ABSL_LOCKS_EXCLUDED(mutex_);
  void WakeWatchers() ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const Watcher* watcher) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<std::string> service_names_;
  mutable absl::Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool watches_ended_ ABSL_GUARDED_BY(mutex_) = false;
  // Shared by this list and by a thread that wakes watchers without the lock.
  std::vector<std::shared_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_INTERNAL_HEALTH_SERVICE_H_
