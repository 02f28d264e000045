// The call is a reactor: gRPC's threads read and write, and wake the sequence that a piece is for.
// Invariants:
// - At most one read and one write are under way. incoming_ belongs to the read, outgoing_ to the
//   write; what is sent meanwhile is written when it ends.
// - While held_, gRPC does not call OnDone; an operation begins in one of gRPC's callbacks or with
//   a hold of its own, taken while held_.
#include "services/gateway/backends/decode_multiplexer.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
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

namespace {

// Between two looks at whether somebody who waits is still wanted.
constexpr absl::Duration kCancelCheckInterval = absl::Milliseconds(100);

}  // namespace

// Thread-safe. Owned jointly by the sequences.
class DecodeCall final
    : private grpc::ClientBidiReactor<DecodeSequencesRequest, DecodeSequencesResponse> {
 public:
  explicit DecodeCall(TokenizerService::Stub& stub);
  // Ends the call: well, if everything is answered. Waits for its end; not in one of gRPC's
  // callbacks.
  ~DecodeCall() override;
  DecodeCall(const DecodeCall&) = delete;
  DecodeCall& operator=(const DecodeCall&) = delete;

  // False once the call has broken.
  bool is_open() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the number of a new sequence.
  int64_t Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // What is still answered to the sequence is dropped.
  void End(int64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Send(int64_t id, DecodeSequenceRequest request) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<DecodeSequenceResponse> Receive(int64_t id,
                                                 const std::function<bool()>& is_cancelled)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Sequence {
    std::deque<DecodeSequenceResponse> responses;
    absl::CondVar news;
  };

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone(const grpc::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes what waits to be written to outgoing_; the caller writes it without the lock.
  void BeginWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsDone() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return status_.has_value(); }

  grpc::ClientContext context_;
  DecodeSequencesRequest outgoing_;
  DecodeSequencesResponse incoming_;

  mutable absl::Mutex mutex_;
  DecodeSequencesRequest next_ ABSL_GUARDED_BY(mutex_);  // waits while outgoing_ is written
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;              // until the tokenizer says nothing more
  int64_t unanswered_count_ ABSL_GUARDED_BY(mutex_) = 0;  // messages
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<int64_t, Sequence> sequences_ ABSL_GUARDED_BY(mutex_);  // by id
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);     // set: the call has ended
};

DecodeCall::DecodeCall(TokenizerService::Stub& stub) {
  // The headers go out with the first request.
  context_.set_initial_metadata_corked(true);
  stub.async()->DecodeSequences(&context_, this);
  AddHold();
  StartRead(&incoming_);
  StartCall();
}

DecodeCall::~DecodeCall() {
  bool held = false, answered = false;
  {
    const absl::MutexLock lock(&mutex_);
    held = std::exchange(held_, false);
    answered = !writing_ && unanswered_count_ == 0;
  }
  if (held) {
    if (answered) {
      StartWritesDone();
    } else {
      context_.TryCancel();
    }
    RemoveHold();
  }
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &DecodeCall::IsDone));
}

bool DecodeCall::is_open() const {
  const absl::MutexLock lock(&mutex_);
  return held_;
}

int64_t DecodeCall::Begin() {
  const absl::MutexLock lock(&mutex_);
  sequences_.try_emplace(next_id_);
  return next_id_++;
}

void DecodeCall::End(int64_t id) {
  const absl::MutexLock lock(&mutex_);
  sequences_.erase(id);
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

absl::StatusOr<DecodeSequenceResponse> DecodeCall::Receive(
    int64_t id, const std::function<bool()>& is_cancelled) {
  const absl::MutexLock lock(&mutex_);
  Sequence& sequence = sequences_.at(id);
  while (sequence.responses.empty()) {
    if (status_.has_value()) return *status_;
    if (sequence.news.WaitWithTimeout(&mutex_, kCancelCheckInterval) && is_cancelled())
      return absl::CancelledError("the client is gone");
  }
  DecodeSequenceResponse response = std::move(sequence.responses.front());
  sequence.responses.pop_front();
  return response;
}

void DecodeCall::OnReadDone(bool ok) {
  bool held = false;
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
      sequence->second.news.Signal();
    }
  }
  if (ok) StartRead(&incoming_);
  if (held) RemoveHold();
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
  const absl::MutexLock lock(&mutex_);
  const absl::Status status = FromGrpcStatus(grpc_status);
  status_ = status.ok() ? absl::InternalError("the tokenizer ended the stream early")
                        : BackendCallStatus(BackendKind::kTokenizer, status);
  for (auto& [id, sequence] : sequences_) sequence.news.Signal();
}

void DecodeCall::BeginWrite() {
  writing_ = true;
  ++unanswered_count_;
  outgoing_.Clear();
  outgoing_.Swap(&next_);
}

std::shared_ptr<DecodeCall> DecodeMultiplexer::Join() {
  const absl::MutexLock lock(&mutex_);
  std::shared_ptr<DecodeCall> call = call_.lock();
  if (call == nullptr || !call->is_open()) {
    call = std::make_shared<DecodeCall>(stub_);
    call_ = call;
  }
  return call;
}

DecodeSequence::DecodeSequence(DecodeMultiplexer& multiplexer, std::function<bool()> is_cancelled)
    : multiplexer_(multiplexer), is_cancelled_(std::move(is_cancelled)) {}

DecodeSequence::~DecodeSequence() {
  if (call_ == nullptr) return;
  if (!finished_) {
    DecodeSequenceRequest last;
    last.set_finish(true);
    Send(std::move(last));
  }
  call_->End(id_);
}

void DecodeSequence::Send(DecodeSequenceRequest request) {
  if (call_ == nullptr) {
    call_ = multiplexer_.Join();
    id_ = call_->Begin();
  }
  finished_ = request.finish();
  call_->Send(id_, std::move(request));
}

absl::StatusOr<DecodeSequenceResponse> DecodeSequence::Receive() {
  return call_->Receive(id_, is_cancelled_);
}

}  // namespace phyllo
