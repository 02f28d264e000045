// Calls to services, for tasks.
#ifndef PHYLLO_SERVICES_GATEWAY_ASYNC_CLIENT_CALLS_H_
#define PHYLLO_SERVICES_GATEWAY_ASYNC_CLIENT_CALLS_H_

#include <coroutine>
#include <functional>
#include <memory>
#include <utility>

#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/status.h"
#include "services/gateway/async/completion.h"
#include "services/gateway/async/open_calls.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"

namespace phyllo {

// Called once, when a call has ended.
using CallDone = std::function<void(grpc::Status)>;

// A unary call: `start` makes it, with what it is given as the callback of its end.
//   const grpc::Status status = co_await UnaryCall([&](CallDone done) {
//     stub.async()->Encode(&context, &request, &response, std::move(done));
//   });
template <typename Start>
class UnaryCall {
 public:
  explicit UnaryCall(Start start) : start_(std::move(start)) {}

  bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    // The task may go on, and be gone, before the start has returned.
    const Start start = std::move(start_);
    start([this, waiter](grpc::Status status) {
      status_ = std::move(status);
      waiter.resume();
    });
  }
  grpc::Status await_resume() { return std::move(status_); }

 private:
  Start start_;
  grpc::Status status_;
};

// A bidirectional call, one operation at a time, of which the first is a Write: it takes the
// headers along. Cancels the call if it dies before Finish. Thread-compatible but for Cancel.
template <typename Request, typename Response>
class BidiCall {
 public:
  using Reactor = grpc::ClientBidiReactor<Request, Response>;

  // `calls` belongs to the channel's owner. `open` names the method: [&](auto* context, auto*
  // reactor) { stub.async()->Generate(context, reactor); }. The end of `parent` ends the call.
  template <typename Open>
  BidiCall(OpenCalls& calls, const ParentCall& parent, Open open)
      : stream_(new Stream(calls, parent.MakeContext())) {
    open(&stream_->context(), stream_);
    stream_->Begin();
  }
  ~BidiCall() {
    if (finished_) {
      delete stream_;
    } else {
      stream_->Abandon();
    }
  }
  BidiCall(const BidiCall&) = delete;
  BidiCall& operator=(const BidiCall&) = delete;

  // False if the call has ended; Finish says how.
  Task<bool> Write(const Request& request) { return stream_->Write(request); }
  // False if the service says nothing more.
  Task<bool> Read(Response& response) {
    if (!readable_) co_return false;
    readable_ = co_await stream_->Read(response);
    co_return readable_;
  }

  // Reads what is left, drops it, and waits for the end. Nothing follows.
  Task<grpc::Status> Finish() {
    Response dropped;
    while (co_await Read(dropped)) {
    }
    co_await stream_->Done();
    finished_ = true;
    co_return stream_->status();
  }

  // Breaks the call off: what is awaited ends soon. Thread-safe.
  void Cancel() { stream_->context().TryCancel(); }

 private:
  // Lives until gRPC has called OnDone.
  class Stream final : public Reactor {
   public:
    Stream(OpenCalls& calls, std::unique_ptr<grpc::ClientContext> context)
        : place_(calls), context_(std::move(context)) {
      context_->set_initial_metadata_corked(true);
    }

    // Operations begin in reactions of other calls as well: hence the hold.
    void Begin() {
      this->AddHold();
      this->StartCall();
    }
    // Must not be waiting.
    void Abandon() {
      abandoned_ = true;
      context_->TryCancel();
      this->RemoveHold();
    }

    Task<bool> Write(const Request& request) {
      co_return co_await operation_.Await([this, &request] { this->StartWrite(&request); });
    }
    Task<bool> Read(Response& response) {
      co_return co_await operation_.Await([this, &response] { this->StartRead(&response); });
    }
    Task<void> Done() {
      co_await operation_.Await([this] { this->RemoveHold(); });
    }

    grpc::ClientContext& context() { return *context_; }
    const grpc::Status& status() const { return status_; }

    void OnReadDone(bool ok) override { operation_.Complete(ok); }
    void OnWriteDone(bool ok) override { operation_.Complete(ok); }
    void OnDone(const grpc::Status& status) override {
      if (abandoned_) {
        delete this;
        return;
      }
      status_ = status;
      operation_.Complete(status.ok());
    }

   private:
    const OpenCalls::Place place_;
    const std::unique_ptr<grpc::ClientContext> context_;
    Completion operation_;
    grpc::Status status_;     // of the end
    bool abandoned_ = false;  // nobody waits for the end
  };

  Stream* const stream_;  // ours until it is abandoned
  bool readable_ = true;
  bool finished_ = false;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ASYNC_CLIENT_CALLS_H_
