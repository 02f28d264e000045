// The client's call, as all that is done on its behalf sees it.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_PARENT_CALL_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_PARENT_CALL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server_context.h"

namespace phyllo {

// Thread-safe.
class ParentCall {
 public:
  // Borrows `context`. Null stands for a client without a connection, as tests have it.
  explicit ParentCall(const grpc::CallbackServerContext* context) : context_(context) {}
  ParentCall(const ParentCall&) = delete;
  ParentCall& operator=(const ParentCall&) = delete;

  // For a call on the client's behalf: it ends with the client's, and has its deadline.
  std::unique_ptr<grpc::ClientContext> MakeContext() const;

  // The client has cancelled or left, or its deadline has passed.
  bool is_cancelled() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Says so to all listeners.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  // `listener` is called once when the call is cancelled, at once if it is already: possibly still
  // while and after it is removed, so it shares what it uses. Returns its number.
  int64_t AddListener(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mutex_);
  void RemoveListener(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const grpc::CallbackServerContext* const context_;
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<int64_t, std::function<void()>> listeners_ ABSL_GUARDED_BY(mutex_);  // by number
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_PARENT_CALL_H_
