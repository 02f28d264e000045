// The client's side of one sequence: what it may say when, and which single status its stream ends
// with. No gRPC in it.
#ifndef PHYLLO_SERVICES_TRANSFORMER_SEQUENCE_SESSION_H_
#define PHYLLO_SERVICES_TRANSFORMER_SEQUENCE_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/sequence_outbox.h"

namespace phyllo {

// What a stream has to say next.
struct SessionNews {
  SequenceNews news;
  std::optional<absl::Status> final_status;  // set: after the news the stream ends with it
};

// Starts a sequence, accepts rows only while a need is unanswered (which bounds what a client can
// make the server hold), ends the sequence when the client breaks the protocol or leaves. The
// methods that return a status return what is wrong with the client's message; the caller hands it
// to Fail. Thread-safe. Lock order: the session's before the outbox's and the engine's.
class SequenceSession {
 public:
  // Borrows the engine. `retry_delay` is the hint for those whom a full queue refuses.
  SequenceSession(Engine& engine, int64_t hidden_size, absl::Duration retry_delay);

  bool started() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Submits. Called once. `on_news` as in SequenceOutbox. Errors of Engine::Submit.
  absl::Status Begin(SequenceRequest request, NewsCallback on_news) ABSL_LOCKS_EXCLUDED(mutex_);

  // Answers a need with rows [n, hidden_size]. INVALID_ARGUMENT if the sequence has not begun or
  // the rows were not asked for.
  absl::Status ProvideRows(int64_t first_position, std::vector<float> rows)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The client will say nothing more. INVALID_ARGUMENT if it still owes a start or rows.
  absl::Status EndRequests() ABSL_LOCKS_EXCLUDED(mutex_);

  // The session ends with `status`, not OK, unless it has ended: at once, or as soon as the engine
  // has let go of the sequence.
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);

  // Everything new. Nothing follows a final status.
  SessionNews Take() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status CheckAnswerable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FailLocked(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Engine& engine_;
  const int64_t hidden_size_;
  const absl::Duration retry_delay_;

  mutable absl::Mutex mutex_;
  std::optional<SequenceId> id_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<SequenceOutbox> outbox_ ABSL_GUARDED_BY(mutex_);  // shared with the engine
  int64_t asked_rows_ ABSL_GUARDED_BY(mutex_) = 0;  // of needs that were taken and not answered
  bool requests_ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // why this side ended the sequence
  std::optional<absl::Status> final_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_SEQUENCE_SESSION_H_
