#include "services/gateway/choices/choice_group.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "services/gateway/async/async_mutex.h"
#include "services/gateway/async/task_group.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateResponse;

// Lets one choice at a time send. Thread-safe.
class SharedSink {
 public:
  explicit SharedSink(ResponseSink& sink) : sink_(sink) {}

  Task<absl::Status> Send(GenerateResponse message) {
    const AsyncMutex::Holder holder = co_await mutex_.Acquire();
    co_return co_await sink_.Send(std::move(message));
  }

 private:
  AsyncMutex mutex_;
  ResponseSink& sink_;  // used by who holds mutex_
};

// Numbers the messages of one choice; with `hold` it keeps them. Thread-compatible.
class ChoiceSink final : public ResponseSink {
 public:
  ChoiceSink(SharedSink& sink, int32_t index, bool hold)
      : sink_(sink), index_(index), hold_(hold) {}

  Task<absl::Status> Send(GenerateResponse message) override {
    // The prompt is computed once.
    if (message.has_prefill_progress() && index_ > 0) co_return absl::OkStatus();
    message.set_choice_index(index_);
    if (!hold_ || message.has_prefill_progress()) co_return co_await sink_.Send(std::move(message));
    held_.push_back(std::move(message));
    co_return absl::OkStatus();
  }
  bool keeps() const override { return hold_; }

  std::vector<GenerateResponse>& held() { return held_; }

 private:
  SharedSink& sink_;
  const int32_t index_;
  const bool hold_;
  std::vector<GenerateResponse> held_;
};

// Adds what the answer of `more` took, its prompt aside, to `sum`.
void AddGenerated(const common::v1::Usage& more, common::v1::Usage& sum) {
  sum.set_generated_token_count(sum.generated_token_count() + more.generated_token_count());
  sum.set_preemption_count(sum.preemption_count() + more.preemption_count());
  sum.set_drafted_token_count(sum.drafted_token_count() + more.drafted_token_count());
  sum.set_accepted_token_count(sum.accepted_token_count() + more.accepted_token_count());
}

// Thread-compatible; RunOne runs in several threads.
class ChoiceGroup {
 public:
  ChoiceGroup(const ChoiceParts& parts, ResponseSink& sink, const GenerationTrace& trace)
      : request_(parts.request), sink_(sink) {
    for (int32_t i = 0; i < request_.run_count; ++i) {
      sinks_.push_back(std::make_unique<ChoiceSink>(sink_, i, request_.best_of()));
      runs_.push_back(std::make_unique<ChoiceRun>(parts, i, trace, *sinks_.back()));
    }
  }

  Task<absl::Status> Run() {
    co_await RunOne(0, [this] {
      for (size_t i = 1; i < runs_.size(); ++i) others_.Start(RunOne(i, [] {}));
    });
    co_await others_.Join();
    const absl::MutexLock lock(&mutex_);
    co_return error_;
  }

  Task<absl::Status> SendBest() {
    std::vector<size_t> order(runs_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return runs_[a]->mean_logprob() > runs_[b]->mean_logprob();
    });
    // The first run alone was asked for the log-probabilities of the prompt.
    gateway::v1::Finished& first = *sinks_[0]->held().back().mutable_finished();
    gateway::v1::Finished& best = *sinks_[order[0]]->held().back().mutable_finished();
    if (&first != &best) best.mutable_prompt_logprobs()->Swap(first.mutable_prompt_logprobs());
    // Usage counts what was generated, returned or not.
    for (size_t rank = request_.choice_count; rank < order.size(); ++rank)
      AddGenerated(sinks_[order[rank]]->held().back().finished().usage(), *best.mutable_usage());
    for (int32_t rank = 0; rank < request_.choice_count; ++rank) {
      for (GenerateResponse& message : sinks_[order[rank]]->held()) {
        message.set_choice_index(rank);
        PHYLLO_CO_RETURN_IF_ERROR(co_await sink_.Send(std::move(message)));
      }
    }
    co_return absl::OkStatus();
  }

  // All choices together, as one.
  void AddTo(GenerationTrace& trace) const {
    trace.finish_reason = runs_[0]->trace().finish_reason;
    for (const auto& run : runs_) {
      const GenerationTrace& one = run->trace();
      trace.generated_token_count += one.generated_token_count;
      trace.embed_time += one.embed_time;
      if (!one.time_to_first_token.has_value()) continue;
      trace.time_to_first_token = std::min(
          trace.time_to_first_token.value_or(*one.time_to_first_token), *one.time_to_first_token);
      trace.time_to_last_token = std::max(
          trace.time_to_last_token.value_or(*one.time_to_last_token), *one.time_to_last_token);
    }
  }

 private:
  Task<void> RunOne(size_t index, std::function<void()> on_prompt_done)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::Status status = co_await runs_[index]->Run(std::move(on_prompt_done));
    if (!status.ok() && SetError(std::move(status))) {
      for (const auto& run : runs_) run->Cancel();
    }
  }

  // False if there was one before.
  bool SetError(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (!error_.ok()) return false;
    error_ = std::move(status);
    return true;
  }

  const GenerationRequest& request_;
  SharedSink sink_;
  std::vector<std::unique_ptr<ChoiceSink>> sinks_;
  std::vector<std::unique_ptr<ChoiceRun>> runs_;
  TaskGroup others_;
  absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first: what failed later failed by it
};

}  // namespace

Task<absl::Status> RunChoices(const ChoiceParts& parts, ResponseSink& sink,
                              GenerationTrace& trace) {
  ChoiceGroup group(parts, sink, trace);
  absl::Status status = co_await group.Run();
  group.AddTo(trace);
  if (status.ok() && parts.request.best_of()) status = co_await group.SendBest();
  co_return status;
}

}  // namespace phyllo
