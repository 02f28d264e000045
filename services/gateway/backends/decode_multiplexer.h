// What all answers under way want decoded by one tokenizer, in one call.
#ifndef PHYLLO_SERVICES_GATEWAY_BACKENDS_DECODE_MULTIPLEXER_H_
#define PHYLLO_SERVICES_GATEWAY_BACKENDS_DECODE_MULTIPLEXER_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "phyllo/tokenizer/v1/tokenizer.grpc.pb.h"
#include "services/gateway/async/open_calls.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"

namespace phyllo {

class DecodeCall;

// Opens the DecodeSequences call to a tokenizer that all sequences at a time share: requests that
// come while others are being written go out together. The call ends with its last sequence, so
// that a tokenizer without work can drain. Thread-safe. Outlives its sequences.
class DecodeMultiplexer {
 public:
  // Borrows both; `calls` belongs to the owner of the stub's channel.
  DecodeMultiplexer(tokenizer::v1::TokenizerService::Stub& stub, OpenCalls& calls)
      : stub_(stub), calls_(calls) {}
  DecodeMultiplexer(const DecodeMultiplexer&) = delete;
  DecodeMultiplexer& operator=(const DecodeMultiplexer&) = delete;

 private:
  friend class DecodeSequence;

  // A new sequence, its number in `id`, of the call under way; of another one if there is none, or
  // it is ending or has broken.
  std::shared_ptr<DecodeCall> Join(int64_t& id) ABSL_LOCKS_EXCLUDED(mutex_);

  tokenizer::v1::TokenizerService::Stub& stub_;
  OpenCalls& calls_;
  absl::Mutex mutex_;
  std::weak_ptr<DecodeCall> call_ ABSL_GUARDED_BY(mutex_);
};

// One sequence of ids that are decoded as they come. Ends in the tokenizer when it dies.
// Thread-compatible.
class DecodeSequence {
 public:
  // `parent` is the client's call: Receive gives up when it is cancelled. Borrows both.
  DecodeSequence(DecodeMultiplexer& multiplexer, ParentCall& parent);
  ~DecodeSequence();
  DecodeSequence(const DecodeSequence&) = delete;
  DecodeSequence& operator=(const DecodeSequence&) = delete;

  // Does not wait for the tokenizer. The first request has the options, if any. Nothing follows a
  // request that says finish. The number of the sequence is set here.
  void Send(tokenizer::v1::DecodeSequenceRequest request);

  // Waits for the answer to the oldest request that is not answered yet, of which there is one.
  // CANCELLED, or what ended the call, in the client's words: UNAVAILABLE names the tokenizer.
  Task<absl::StatusOr<tokenizer::v1::DecodeSequenceResponse>> Receive();

 private:
  DecodeMultiplexer& multiplexer_;
  ParentCall& parent_;
  std::shared_ptr<DecodeCall> call_;  // shared with the other sequences; null before the first Send
  int64_t id_ = 0;
  int64_t listener_id_ = 0;
  bool finished_ = false;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_BACKENDS_DECODE_MULTIPLEXER_H_
