#include "services/transformer/sequence_session.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_bridge.h"

namespace phyllo {

SequenceSession::SequenceSession(Engine& engine, int64_t hidden_size, absl::Duration retry_delay)
    : engine_(engine), hidden_size_(hidden_size), retry_delay_(retry_delay) {}

bool SequenceSession::started() const {
  absl::MutexLock lock(&mutex_);
  return id_.has_value();
}

absl::Status SequenceSession::Begin(SequenceRequest request, NewsCallback on_news) {
  absl::StatusOr<Engine::Submitted> submitted =
      engine_.Submit(std::move(request), std::move(on_news));
  if (absl::IsResourceExhausted(submitted.status()))
    return WithRetryDelay(submitted.status(), retry_delay_);
  if (!submitted.ok()) return submitted.status();
  absl::MutexLock lock(&mutex_);
  id_ = submitted->id;
  outbox_ = std::move(submitted->outbox);
  if (final_status_) engine_.Cancel(*id_);  // the client left meanwhile
  return absl::OkStatus();
}

absl::Status SequenceSession::ProvideRows(int64_t first_position, std::vector<float> rows) {
  const int64_t count = static_cast<int64_t>(rows.size()) / hidden_size_;
  absl::MutexLock lock(&mutex_);
  if (!id_) return absl::InvalidArgumentError("the first message must be a start");
  if (count > asked_rows_) {
    return absl::InvalidArgumentError(
        absl::StrCat("hidden_states: ", count - asked_rows_, " rows more than were asked for"));
  }
  asked_rows_ -= count;
  engine_.ProvideHiddenStates(*id_, first_position, std::move(rows));
  return absl::OkStatus();
}

absl::Status SequenceSession::EndRequests() {
  absl::MutexLock lock(&mutex_);
  requests_ended_ = true;
  return id_ ? CheckAnswerable() : absl::InvalidArgumentError("the stream ended before a start");
}

absl::Status SequenceSession::CheckAnswerable() const {
  if (!requests_ended_ || asked_rows_ == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the client closed its side with ", asked_rows_, " rows unanswered"));
}

void SequenceSession::Fail(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  FailLocked(std::move(status));
}

void SequenceSession::FailLocked(absl::Status status) {
  if (!error_.ok() || final_status_) return;
  error_ = std::move(status);
  if (id_) {
    engine_.Cancel(*id_);
  } else {
    final_status_ = error_;
  }
}

SessionNews SequenceSession::Take() {
  absl::MutexLock lock(&mutex_);
  SessionNews session;
  if (outbox_ != nullptr && !final_status_) {
    session.news = outbox_->Take();
    for (const RowRange need : session.news.needs) asked_rows_ += need.count;
    if (session.news.result) {
      if (!error_.ok()) session.news.result->status = error_;
      final_status_ = session.news.result->status;
    } else if (absl::Status status = CheckAnswerable(); !status.ok()) {
      FailLocked(std::move(status));
    }
  }
  session.final_status = final_status_;
  return session;
}

}  // namespace phyllo
