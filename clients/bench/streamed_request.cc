#include "clients/bench/streamed_request.h"

#include "absl/time/clock.h"
#include "services/common/status_bridge.h"

namespace phyllo {

void StreamedRequest::Start(gateway::v1::GatewayService::Stub& stub,
                            const gateway::v1::GenerateRequest& request, absl::Duration timeout,
                            grpc::CompletionQueue& queue) {
  prompt_token_count_ = request.token_ids().ids_size();
  if (timeout != absl::InfiniteDuration())
    context_.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  operation_ = Operation::kCall;
  reader_ = stub.AsyncGenerate(&context_, request, &queue, this);
}

bool StreamedRequest::Proceed(bool ok, double now) {
  if (operation_ == Operation::kFinish) {
    end_time_ = now;
    status_ = FromGrpcStatus(grpc_status_);
    return true;
  }
  if (!ok) {
    operation_ = Operation::kFinish;
    reader_->Finish(&grpc_status_, this);
    return false;
  }
  if (operation_ == Operation::kRead) TakeMessage(now);
  operation_ = Operation::kRead;
  reader_->Read(&message_, this);
  return false;
}

void StreamedRequest::TakeMessage(double now) {
  if (message_.has_finished()) usage_ = message_.finished().usage();
  const int token_count = message_.delta().token_ids_size();
  if (token_count == 0) return;
  if (output_token_count_ == 0) {
    first_token_time_ = now;
    first_tokens_ = token_count;
  } else {
    message_gaps_.push_back(now - last_token_time_);
  }
  last_token_time_ = now;
  output_token_count_ += token_count;
  chat_.token_ids.insert(chat_.token_ids.end(), message_.delta().token_ids().begin(),
                         message_.delta().token_ids().end());
}

void StreamedRequest::AddTo(LoadResult& result, bool interrupted) const {
  const bool has_tokens = output_token_count_ > 0;
  result.output_token_count += output_token_count_;
  if (has_tokens) {
    result.prompt_token_count += prompt_token_count_;
    result.message_count += 1 + static_cast<int64_t>(message_gaps_.size());
  }
  if (interrupted && absl::IsCancelled(status_)) {
    ++result.cancelled_count;
    return;
  }
  if (!status_.ok()) {
    LoadError& error = result.errors[status_.code()];
    if (error.count++ == 0) error.message = std::string(status_.message());
    return;
  }
  ++result.completed_count;
  result.end_to_end_latency.push_back(end_time_ - start_time_);
  if (has_tokens) result.time_to_first_token.push_back(first_token_time_ - start_time_);
  if (!message_gaps_.empty()) {
    // The tokens of the first message came at once, so the time that follows is that of the others.
    result.time_per_output_token.push_back(
        (last_token_time_ - first_token_time_) /
        static_cast<double>(output_token_count_ - first_tokens_));
  }
  result.inter_token_latency.insert(result.inter_token_latency.end(), message_gaps_.begin(),
                                    message_gaps_.end());
  result.cached_prompt_token_count += usage_.cached_prompt_token_count();
  result.preemption_count += usage_.preemption_count();
  result.drafted_token_count += usage_.drafted_token_count();
  result.accepted_token_count += usage_.accepted_token_count();
}

}  // namespace phyllo
