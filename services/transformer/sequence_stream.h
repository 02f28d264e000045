// One bidirectional stream around one sequence of the engine.
#ifndef PHYLLO_SERVICES_TRANSFORMER_SEQUENCE_STREAM_H_
#define PHYLLO_SERVICES_TRANSFORMER_SEQUENCE_STREAM_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "model/base/memory_budget.h"
#include "model/base/status_macros.h"
#include "services/common/status_bridge.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/memory/memory_needs.h"
#include "services/transformer/news_dispatcher.h"
#include "services/transformer/sequence_session.h"
#include "services/transformer/wire/request_conversion.h"

namespace phyllo {

// What every stream of a server shares. All borrowed.
struct StreamBackend {
  Engine& engine;
  NewsDispatcher& dispatcher;
  int64_t hidden_size = 0;
  absl::Duration retry_delay = absl::Seconds(1);  // hint for those whom the queue refuses
  MemoryBudget* request_memory = nullptr;         // as in EngineOptions
};

// Reads start and hidden states, writes news, ends with one status. `Conversation` is
// GenerateConversation, ScoreConversation or EncodeConversation. At most one read and one write are
// under way; what the engine says meanwhile is merged in its outbox. Holds no thread. Lives until
// gRPC has called OnDone and no thread uses it any more. Thread-safe. Lock order: the stream's
// before the session's.
template <typename Conversation>
class SequenceStream final : public grpc::ServerBidiReactor<typename Conversation::Request,
                                                            typename Conversation::Response>,
                             public NewsReader,
                             public std::enable_shared_from_this<SequenceStream<Conversation>> {
 public:
  using Request = typename Conversation::Request;
  using Response = typename Conversation::Response;

  // The reactor to return to gRPC, which owns it until OnDone.
  static SequenceStream* Open(const StreamBackend& backend, grpc::CallbackServerContext* context) {
    const auto stream = std::shared_ptr<SequenceStream>(new SequenceStream(backend, context));
    stream->self_ = stream;
    if (absl::Status status = stream->memory_.Grow(kStreamBytes); status.ok()) {
      stream->StartRead(&stream->request_);
    } else {
      stream->session_.Fail(WithRetryDelay(std::move(status), backend.retry_delay));
      stream->TakeNews();
    }
    return stream.get();
  }

  void OnNews() override { TakeNews(); }

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::Status status = ok ? HandleRequest() : session_.EndRequests();
    request_ = Request();  // gives the memory of its lists and rows back
    if (!status.ok()) {
      session_.Fail(context_->IsCancelled() ? absl::CancelledError("the client cancelled")
                                            : std::move(status));
    } else if (ok) {
      this->StartRead(&request_);
    }
    TakeNews();
  }

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      response_ = Response();
      if (!ok) pending_.clear();  // the client is gone; OnCancel says so
    }
    Pump();
  }

  void OnCancel() override {
    session_.Fail(absl::CancelledError("the client cancelled"));
    TakeNews();
  }

  void OnDone() override {
    const std::shared_ptr<SequenceStream> last_reference = std::move(self_);
  }

 private:
  SequenceStream(const StreamBackend& backend, grpc::CallbackServerContext* context)
      : backend_(backend),
        context_(context),
        memory_(backend.request_memory != nullptr ? MemoryReservation(*backend.request_memory)
                                                  : MemoryReservation()),
        session_(backend.engine, backend.hidden_size, backend.retry_delay) {}

  absl::Status HandleRequest() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (request_.has_start()) return Begin();
    if (!request_.has_hidden_states())
      return absl::InvalidArgumentError("the message is neither a start nor hidden states");
    PHYLLO_ASSIGN_OR_RETURN(std::vector<float> rows,
                            ToHiddenStates(request_.hidden_states().rows(), backend_.hidden_size));
    return session_.ProvideRows(request_.hidden_states().first_position(), std::move(rows));
  }

  absl::Status Begin() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (session_.started()) return absl::InvalidArgumentError("the stream has a second start");
    absl::StatusOr<SequenceRequest> sequence = BeginConversation();
    if (!sequence.ok()) return sequence.status();
    if (context_->deadline() != std::chrono::system_clock::time_point::max()) {
      sequence->deadline =
          backend_.engine.now() + (absl::FromChrono(context_->deadline()) - absl::Now());
    }
    return session_.Begin(*std::move(sequence),
                          [weak = this->weak_from_this(), &dispatcher = backend_.dispatcher](
                              NewsUrgency urgency) { dispatcher.Post(weak, urgency); });
  }

  absl::StatusOr<SequenceRequest> BeginConversation() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return conversation_.Begin(request_.start());
  }

  void TakeNews() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      may_take_ = true;
    }
    Pump();
  }

  // Starts the next operation if there is one to start and none is under way. gRPC may call back
  // from inside, hence not under the lock.
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_) {
    bool finish = false;
    {
      absl::MutexLock lock(&mutex_);
      if (writing_ || finished_) return;
      if (pending_.empty() && !final_status_ && std::exchange(may_take_, false)) {
        SessionNews session = session_.Take();
        pending_memory_ = std::move(session.news.memory);
        conversation_.Append(std::move(session.news), pending_);
        final_status_ = std::move(session.final_status);
      }
      if (pending_.empty() && !final_status_) return;
      finish = finished_ = pending_.empty();
      if (!finish) {
        response_ = std::move(pending_.front());
        pending_.pop_front();
        writing_ = true;
      }
    }
    if (finish) {
      this->Finish(ToGrpcStatus(*final_status_));
    } else {
      this->StartWrite(&response_);
    }
  }

  const StreamBackend backend_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<SequenceStream>
      self_;                  // shared with the dispatcher while it calls; reset by OnDone
  MemoryReservation memory_;  // of the stream beside its request
  SequenceSession session_;
  Request request_;                           // gRPC's while a read is under way, else the reader's
  Response response_;                         // gRPC's while writing_
  std::optional<absl::Status> final_status_;  // written under the lock, not any more once finished_

  absl::Mutex mutex_;
  Conversation conversation_ ABSL_GUARDED_BY(mutex_);
  std::deque<Response> pending_ ABSL_GUARDED_BY(mutex_);
  MemoryReservation pending_memory_ ABSL_GUARDED_BY(mutex_);  // of pending_ and response_
  // There may be news that is to go out now. The end of a write is no reason to look: what came
  // meanwhile may be of those that can wait.
  bool may_take_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_SEQUENCE_STREAM_H_
