// There is no thread for the call: of the threads that wait for an answer one polls the completion
// queue, for all of them. So a sequence that is alone has its answer without another thread
// between. Invariants:
// - At most one write, one read and one Finish are under way. The polling thread starts all but
//   those writes that find none under way; it alone uses incoming_ and grpc_status_.
// - While a sequence waits, some thread polls, or has been woken to do so.
#include "services/gateway/backends/decode_multiplexer.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/async_stream.h"
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
class DecodeCall {
 public:
  explicit DecodeCall(TokenizerService::Stub& stub);
  // Ends the call: well, if everything is answered.
  ~DecodeCall();
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
  enum class Operation { kWrite, kRead, kFinish };

  struct Sequence {
    std::deque<DecodeSequenceResponse> responses;
    bool waiting = false;
    absl::CondVar news;
  };

  // Waits for an operation to end, until `deadline`, and starts what follows it. False at the
  // deadline. By the polling thread, without the lock.
  bool Poll(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWritten(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnRead(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFinished() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes what waits to be written to outgoing_; the caller writes it without the lock.
  void BeginWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteOutgoing() { stream_->Write(outgoing_, &write_tag_); }
  // One turn of `sequence`'s wait: polls, or sleeps while another thread does. False after
  // kCancelCheckInterval without news.
  bool Wait(Sequence& sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeNextPoller() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Operation write_tag_ = Operation::kWrite;
  Operation read_tag_ = Operation::kRead;
  Operation finish_tag_ = Operation::kFinish;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<DecodeSequencesRequest, DecodeSequencesResponse>>
      stream_;
  DecodeSequencesRequest outgoing_;  // gRPC's while writing_
  DecodeSequencesResponse incoming_;
  grpc::Status grpc_status_;

  mutable absl::Mutex mutex_;
  DecodeSequencesRequest next_ ABSL_GUARDED_BY(mutex_);  // waits while outgoing_ is written
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool polling_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mutex_) = false;       // the tokenizer says nothing more
  int64_t unanswered_count_ ABSL_GUARDED_BY(mutex_) = 0;  // messages
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<int64_t, Sequence> sequences_ ABSL_GUARDED_BY(mutex_);  // by id
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);     // set: the call has ended
};

DecodeCall::DecodeCall(TokenizerService::Stub& stub) {
  // The headers go out with the first request.
  context_.set_initial_metadata_corked(true);
  stream_ = stub.AsyncDecodeSequences(&context_, &queue_, nullptr);
  stream_->Read(&incoming_, &read_tag_);
}

DecodeCall::~DecodeCall() {
  bool ended = false;
  {
    const absl::MutexLock lock(&mutex_);
    ended = status_.has_value();
    if (!read_ended_ && !writing_ && unanswered_count_ == 0) {
      writing_ = true;
      stream_->WritesDone(&write_tag_);
    } else {
      context_.TryCancel();
    }
  }
  while (!ended) {
    Poll(absl::InfiniteFuture());
    const absl::MutexLock lock(&mutex_);
    ended = status_.has_value() && !writing_;
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

bool DecodeCall::is_open() const {
  const absl::MutexLock lock(&mutex_);
  return !read_ended_;
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
    if (read_ended_) return;  // Receive says why.
    DecodeSequenceRequest& piece = *next_.add_pieces();
    piece = std::move(request);
    piece.set_sequence_id(id);
    if (writing_) return;
    BeginWrite();
  }
  WriteOutgoing();
}

absl::StatusOr<DecodeSequenceResponse> DecodeCall::Receive(
    int64_t id, const std::function<bool()>& is_cancelled) {
  const absl::MutexLock lock(&mutex_);
  Sequence& sequence = sequences_.at(id);
  sequence.waiting = true;
  bool cancelled = false;
  while (sequence.responses.empty() && !status_.has_value() && !cancelled) {
    if (!Wait(sequence)) cancelled = is_cancelled();
  }
  sequence.waiting = false;
  WakeNextPoller();
  if (sequence.responses.empty())
    return cancelled ? absl::CancelledError("the client is gone") : *status_;
  DecodeSequenceResponse response = std::move(sequence.responses.front());
  sequence.responses.pop_front();
  return response;
}

bool DecodeCall::Wait(Sequence& sequence) {
  if (polling_) return !sequence.news.WaitWithTimeout(&mutex_, kCancelCheckInterval);
  polling_ = true;
  mutex_.Unlock();
  const bool has_news = Poll(absl::Now() + kCancelCheckInterval);
  mutex_.Lock();
  polling_ = false;
  return has_news;
}

void DecodeCall::WakeNextPoller() {
  if (polling_) return;
  for (auto& [id, sequence] : sequences_) {
    if (!sequence.waiting) continue;
    sequence.news.Signal();
    return;
  }
}

bool DecodeCall::Poll(absl::Time deadline) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(deadline)) != grpc::CompletionQueue::GOT_EVENT)
    return false;
  switch (*static_cast<Operation*>(tag)) {
    case Operation::kWrite:
      OnWritten(ok);
      break;
    case Operation::kRead:
      OnRead(ok);
      break;
    case Operation::kFinish:
      OnFinished();
      break;
  }
  return true;
}

void DecodeCall::OnWritten(bool ok) {
  {
    const absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok || read_ended_ || next_.pieces().empty()) return;
    BeginWrite();
  }
  WriteOutgoing();
}

void DecodeCall::OnRead(bool ok) {
  {
    const absl::MutexLock lock(&mutex_);
    read_ended_ = !ok;
    if (ok) --unanswered_count_;
    for (DecodeSequenceResponse& piece : *incoming_.mutable_pieces()) {
      const auto sequence = sequences_.find(piece.sequence_id());
      if (!ok || sequence == sequences_.end()) continue;
      sequence->second.responses.push_back(std::move(piece));
      sequence->second.news.Signal();
    }
  }
  if (ok) {
    stream_->Read(&incoming_, &read_tag_);
  } else {
    stream_->Finish(&grpc_status_, &finish_tag_);
  }
}

void DecodeCall::OnFinished() {
  const absl::MutexLock lock(&mutex_);
  const absl::Status status = FromGrpcStatus(grpc_status_);
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
