// The call is a reactor: gRPC's threads read and write, and who waits for a piece goes on in them.
// Invariants:
// - At most one read and one write are under way. incoming_ belongs to the read, outgoing_ to the
//   write; what is sent meanwhile is written when it ends.
// - While held_, gRPC does not call OnDone; an operation begins in one of gRPC's callbacks or with
//   a hold of its own, taken while held_.
#include "services/gateway/backends/decode_multiplexer.h"

#include <coroutine>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "services/common/status_bridge.h"
#include "services/gateway/backends/backend.h"

namespace phyllo {

using tokenizer::v1::DecodeSequenceRequest;
using tokenizer::v1::DecodeSequenceResponse;
using tokenizer::v1::DecodeSequencesRequest;
using tokenizer::v1::DecodeSequencesResponse;
using tokenizer::v1::TokenizerService;

// Thread-safe. Lives until gRPC has called OnDone and no sequence refers to it.
class DecodeCall final
    : private grpc::ClientBidiReactor<DecodeSequencesRequest, DecodeSequencesResponse> {
 public:
  static std::shared_ptr<DecodeCall> Open(TokenizerService::Stub& stub, OpenCalls& calls);

  // Returns the number of a new sequence; nothing if the call is ending or has broken.
  std::optional<int64_t> Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // What is still answered to the sequence is dropped. With the last sequence the call ends: well,
  // if everything is answered.
  void End(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Send(int64_t id, DecodeSequenceRequest request) ABSL_LOCKS_EXCLUDED(mutex_);
  Task<absl::StatusOr<DecodeSequenceResponse>> Receive(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The sequence's client is gone: from now on it does not wait.
  void Cancel(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Sequence {
    std::deque<DecodeSequenceResponse> responses;
    bool cancelled = false;
    std::coroutine_handle<> waiter;  // for a response, or for the news that none comes
  };

  // Suspends unless there is something to receive, or nothing to wait for.
  struct News {
    DecodeCall& call;
    const int64_t id;
    bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) { return call.WaitForNews(id, waiter); }
    void await_resume() noexcept {}
  };

  explicit DecodeCall(OpenCalls& calls) : place_(calls) {}
  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone(const grpc::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes what waits to be written to outgoing_; the caller writes it without the lock.
  void BeginWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool WaitForNews(int64_t id, std::coroutine_handle<> waiter) ABSL_LOCKS_EXCLUDED(mutex_);

  const OpenCalls::Place place_;
  grpc::ClientContext context_;
  std::shared_ptr<DecodeCall> self_;  // reset by OnDone
  DecodeSequencesRequest outgoing_;
  DecodeSequencesResponse incoming_;

  absl::Mutex mutex_;
  DecodeSequencesRequest next_ ABSL_GUARDED_BY(mutex_);  // waits while outgoing_ is written
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;  // until the last sequence or the tokenizer ends
  int64_t unanswered_count_ ABSL_GUARDED_BY(mutex_) = 0;  // messages
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<int64_t, Sequence> sequences_ ABSL_GUARDED_BY(mutex_);  // by id
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);     // set: the call has ended
};

std::shared_ptr<DecodeCall> DecodeCall::Open(TokenizerService::Stub& stub, OpenCalls& calls) {
  const auto call = std::shared_ptr<DecodeCall>(new DecodeCall(calls));
  call->self_ = call;
  // The headers go out with the first request.
  call->context_.set_initial_metadata_corked(true);
  stub.async()->DecodeSequences(&call->context_, call.get());
  call->AddHold();
  call->StartRead(&call->incoming_);
  call->StartCall();
  return call;
}

std::optional<int64_t> DecodeCall::Begin() {
  const absl::MutexLock lock(&mutex_);
  if (!held_) return std::nullopt;
  sequences_.try_emplace(next_id_);
  return next_id_++;
}

void DecodeCall::End(int64_t id) {
  bool answered = false;
  {
    const absl::MutexLock lock(&mutex_);
    sequences_.erase(id);
    if (!sequences_.empty() || !std::exchange(held_, false)) return;
    answered = !writing_ && unanswered_count_ == 0;
  }
  if (answered) {
    StartWritesDone();
  } else {
    context_.TryCancel();
  }
  RemoveHold();
}

void DecodeCall::Send(int64_t id, DecodeSequenceRequest request) {
  {
    const absl::MutexLock lock(&mutex_);
    if (!held_) return;  // Receive says why.
    DecodeSequenceRequest& piece = *next_.add_pieces();
    piece = std::move(request);
    piece.set_sequence_id(id);
    if (writing_) return;
    BeginWrite();
    AddHold();
  }
  StartWrite(&outgoing_);
  RemoveHold();
}

Task<absl::StatusOr<DecodeSequenceResponse>> DecodeCall::Receive(int64_t id) {
  co_await News{*this, id};
  const absl::MutexLock lock(&mutex_);
  Sequence& sequence = sequences_.at(id);
  if (!sequence.responses.empty()) {
    DecodeSequenceResponse response = std::move(sequence.responses.front());
    sequence.responses.pop_front();
    co_return response;
  }
  if (status_.has_value()) co_return *status_;
  co_return absl::CancelledError("the client is gone");
}

bool DecodeCall::WaitForNews(int64_t id, std::coroutine_handle<> waiter) {
  const absl::MutexLock lock(&mutex_);
  Sequence& sequence = sequences_.at(id);
  if (!sequence.responses.empty() || sequence.cancelled || status_.has_value()) return false;
  sequence.waiter = waiter;
  return true;
}

void DecodeCall::Cancel(int64_t id) {
  std::coroutine_handle<> waiter;
  {
    const absl::MutexLock lock(&mutex_);
    const auto sequence = sequences_.find(id);
    if (sequence == sequences_.end()) return;
    sequence->second.cancelled = true;
    waiter = std::exchange(sequence->second.waiter, nullptr);
  }
  if (waiter) waiter.resume();
}

void DecodeCall::OnReadDone(bool ok) {
  bool held = false;
  std::vector<std::coroutine_handle<>> waiters;
  {
    const absl::MutexLock lock(&mutex_);
    if (ok) {
      --unanswered_count_;
    } else {
      held = std::exchange(held_, false);
    }
    for (DecodeSequenceResponse& piece : *incoming_.mutable_pieces()) {
      const auto sequence = sequences_.find(piece.sequence_id());
      if (!ok || sequence == sequences_.end()) continue;
      sequence->second.responses.push_back(std::move(piece));
      if (sequence->second.waiter)
        waiters.push_back(std::exchange(sequence->second.waiter, nullptr));
    }
  }
  if (ok) StartRead(&incoming_);
  if (held) RemoveHold();
  for (const std::coroutine_handle<> waiter : waiters) waiter.resume();
}

void DecodeCall::OnWriteDone(bool ok) {
  {
    const absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok || next_.pieces().empty()) return;
    BeginWrite();
  }
  StartWrite(&outgoing_);
}

void DecodeCall::OnDone(const grpc::Status& grpc_status) {
  const std::shared_ptr<DecodeCall> self = std::move(self_);
  const absl::Status status = FromGrpcStatus(grpc_status);
  std::vector<std::coroutine_handle<>> waiters;
  {
    const absl::MutexLock lock(&mutex_);
    status_ = status.ok() ? absl::InternalError("the tokenizer ended the stream early")
                          : BackendCallStatus(BackendKind::kTokenizer, status);
    for (auto& [id, sequence] : sequences_) {
      if (sequence.waiter) waiters.push_back(std::exchange(sequence.waiter, nullptr));
    }
  }
  for (const std::coroutine_handle<> waiter : waiters) waiter.resume();
}

void DecodeCall::BeginWrite() {
  writing_ = true;
  ++unanswered_count_;
  outgoing_.Clear();
  outgoing_.Swap(&next_);
}

std::shared_ptr<DecodeCall> DecodeMultiplexer::Join(int64_t& id) {
  const absl::MutexLock lock(&mutex_);
  std::shared_ptr<DecodeCall> call = call_.lock();
  std::optional<int64_t> begun = call != nullptr ? call->Begin() : std::nullopt;
  while (!begun.has_value()) {
    call_ = call = DecodeCall::Open(stub_, calls_);
    begun = call->Begin();
  }
  id = *begun;
  return call;
}

DecodeSequence::DecodeSequence(DecodeMultiplexer& multiplexer, ParentCall& parent)
    : multiplexer_(multiplexer), parent_(parent) {}

DecodeSequence::~DecodeSequence() {
  if (call_ == nullptr) return;
  parent_.RemoveListener(listener_id_);
  if (!finished_) {
    DecodeSequenceRequest last;
    last.set_finish(true);
    Send(std::move(last));
  }
  call_->End(id_);
}

void DecodeSequence::Send(DecodeSequenceRequest request) {
  if (call_ == nullptr) {
    call_ = multiplexer_.Join(id_);
    listener_id_ = parent_.AddListener([call = call_, id = id_] { call->Cancel(id); });
  }
  finished_ = request.finish();
  call_->Send(id_, std::move(request));
}

Task<absl::StatusOr<DecodeSequenceResponse>> DecodeSequence::Receive() {
  return call_->Receive(id_);
}

}  // namespace phyllo
