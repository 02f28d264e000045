// Calls of clients, which tasks answer.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_SERVER_CALLS_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_SERVER_CALLS_H_

#include <utility>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "services/common/status_bridge.h"
#include "services/gateway/async/completion.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/stall_watch.h"
#include "services/gateway/async/task.h"

namespace phyllo {

// A reactor (grpc::ServerUnaryReactor or ServerWriteReactor) for a call that a task answers. Lives
// until gRPC has called OnDone, as do the request and the response.
template <typename Reactor>
class ServerCall : public Reactor {
 public:
  // `context` is the call's.
  explicit ServerCall(const grpc::CallbackServerContext& context) : parent_(&context) {}

  ParentCall& parent() { return parent_; }

  // Begins `task`, whose status ends the call. Called once.
  void Run(Task<absl::Status> task) { Spawn(FinishWith(std::move(task))); }

  void OnCancel() override { parent_.Cancel(); }
  void OnDone() override { delete this; }

 private:
  // Nothing of this object is used once Finish was called: it may be gone.
  Task<void> FinishWith(Task<absl::Status> task) {
    const absl::Status status = co_await std::move(task);
    this->Finish(ToGrpcStatus(status));
  }

  ParentCall parent_;
};

using UnaryServerCall = ServerCall<grpc::ServerUnaryReactor>;

// A call that is answered by a stream of messages.
template <typename Response>
class StreamServerCall final : public ServerCall<grpc::ServerWriteReactor<Response>> {
 public:
  // Borrows `stall_watch`, which ends the call if the client stops reading.
  StreamServerCall(grpc::CallbackServerContext& context, StallWatch& stall_watch)
      : ServerCall<grpc::ServerWriteReactor<Response>>(context),
        context_(context),
        stall_watch_(stall_watch) {}

  // One at a time. False if the client is gone, or reads too slowly.
  Task<bool> Write(const Response& message) {
    const StallWatch::Guard guard(stall_watch_, context_);
    co_return co_await write_.Await([this, &message] { this->StartWrite(&message); });
  }

  void OnWriteDone(bool ok) override { write_.Complete(ok); }

 private:
  grpc::CallbackServerContext& context_;
  StallWatch& stall_watch_;
  Completion write_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_SERVER_CALLS_H_
