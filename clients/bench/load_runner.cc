// Chats that are to go on lie in `due_`, by the time when they may. An open loop keeps the one next
// arrival there, a closed loop as many chats as are not under way. While a request runs, its chat
// is in it, and `running_` owns it; every one of `running_` has one operation in the queue.
#include "clients/bench/load_runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "clients/bench/arrival_schedule.h"
#include "clients/bench/streamed_request.h"
#include "grpcpp/channel.h"
#include "grpcpp/completion_queue.h"
#include "phyllo/gateway/v1/gateway.grpc.pb.h"
#include "services/common/channel.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

constexpr double kObserveSeconds = 0.25;
// For the connection; a server that is not there then fails the requests.
constexpr std::chrono::seconds kConnectTime{30};
// Nothing is learned from more of them.
constexpr int64_t kMaxFailuresInARow = 100;

// Of one load. Thread-compatible.
class LoadRunner {
 public:
  LoadRunner(const LoadOptions& options, Workload& workload, const LoadRun& run,
             const std::shared_ptr<grpc::Channel>& channel)
      : options_(options),
        workload_(workload),
        run_(run),
        stub_(gateway::v1::GatewayService::NewStub(channel)),
        start_(std::chrono::steady_clock::now()) {
    if (options.request_rate > 0) {
      schedule_.emplace(options.request_rate, options.seed);
      due_.emplace(schedule_->Next(), workload.NewChat());
    } else {
      for (int64_t i = 0; i < options.concurrency; ++i) due_.emplace(0.0, workload.NewChat());
    }
  }

  LoadResult Run() {
    while (true) {
      StopIfAsked();
      while (MayStart()) StartNext();
      if (running_.empty() && due_.empty()) break;
      WaitForOperation();
      Observe();
    }
    result_.seconds = last_event_;
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
    return std::move(result_);
  }

 private:
  double Now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // Whether no further request may begin, now or later.
  bool IsExhausted() const {
    return stopped_ || (options_.num_requests > 0 && started_count_ >= options_.num_requests) ||
           Now() >= absl::ToDoubleSeconds(options_.duration);
  }

  void StopIfAsked() {
    const bool interrupted = run_.interrupted != nullptr && *run_.interrupted;
    if (interrupted && !interrupted_) {
      interrupted_ = true;
      for (const auto& [tag, request] : running_) request->Cancel();
    }
    stopped_ = interrupted_ || failures_in_a_row_ >= kMaxFailuresInARow;
    if (IsExhausted()) due_.clear();
  }

  bool MayStart() const {
    return !due_.empty() && due_.begin()->first <= Now() &&
           static_cast<int64_t>(running_.size()) < options_.concurrency && !IsExhausted();
  }

  void StartNext() {
    const double due = due_.begin()->first;
    Chat chat = std::move(due_.extract(due_.begin()).mapped());
    if (schedule_.has_value() && chat.turn == 0)
      due_.emplace(schedule_->Next(), workload_.NewChat());
    const gateway::v1::GenerateRequest message = workload_.NextTurn(chat);
    auto request =
        std::make_unique<StreamedRequest>(std::move(chat), schedule_.has_value() ? due : Now());
    StreamedRequest* const tag = request.get();
    running_.emplace(tag, std::move(request));
    ++started_count_;
    result_.peak_concurrency =
        std::max(result_.peak_concurrency, static_cast<int64_t>(running_.size()));
    tag->Start(*stub_, message, options_.timeout, queue_);
  }

  // Until an operation has ended, or something else may have to be done.
  void WaitForOperation() {
    double wait = kObserveSeconds;
    const bool has_place = static_cast<int64_t>(running_.size()) < options_.concurrency;
    if (!due_.empty() && has_place) wait = std::clamp(due_.begin()->first - Now(), 0.0, wait);
    void* tag = nullptr;
    bool ok = false;
    const auto deadline =
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(wait));
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return;
    last_event_ = Now();
    StreamedRequest* const request = static_cast<StreamedRequest*>(tag);
    if (request->Proceed(ok, last_event_)) End(*request);
  }

  void End(StreamedRequest& request) {
    request.AddTo(result_, interrupted_);
    failures_in_a_row_ = request.status().ok() ? 0 : failures_in_a_row_ + 1;
    GoOn(request);
    running_.erase(&request);
  }

  // With the chat's next turn; in a closed loop else with another chat, when the server that had no
  // room for this one wants it.
  void GoOn(StreamedRequest& request) {
    if (request.status().ok() && !workload_.IsOver(request.chat())) {
      due_.emplace(last_event_, std::move(request.chat()));
    } else if (!schedule_.has_value()) {
      const absl::Duration delay =
          request.status().ok() ? absl::ZeroDuration()
                                : GetRetryDelay(request.status()).value_or(absl::ZeroDuration());
      due_.emplace(last_event_ + absl::ToDoubleSeconds(delay), workload_.NewChat());
    }
  }

  void Observe() {
    if (!run_.observer || Now() < next_observation_) return;
    next_observation_ = Now() + kObserveSeconds;
    run_.observer({.ended_count = result_.completed_count + result_.failed_count(),
                   .failed_count = result_.failed_count(),
                   .running_count = static_cast<int64_t>(running_.size()),
                   .output_token_count = result_.output_token_count,
                   .seconds = Now()});
  }

  const LoadOptions& options_;
  Workload& workload_;
  const LoadRun& run_;
  const std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
  const std::chrono::steady_clock::time_point start_;

  grpc::CompletionQueue queue_;
  std::optional<ArrivalSchedule> schedule_;  // of an open loop
  std::multimap<double, Chat> due_;
  std::unordered_map<StreamedRequest*, std::unique_ptr<StreamedRequest>> running_;
  int64_t started_count_ = 0;
  int64_t failures_in_a_row_ = 0;
  bool interrupted_ = false;
  bool stopped_ = false;
  double last_event_ = 0;
  double next_observation_ = 0;
  LoadResult result_;
};

}  // namespace

LoadResult RunLoad(const LoadOptions& options, Workload& workload, const LoadRun& run) {
  const std::shared_ptr<grpc::Channel> channel = CreateChannel(run.address);
  channel->WaitForConnected(std::chrono::system_clock::now() + kConnectTime);
  return LoadRunner(options, workload, run, channel).Run();
}

}  // namespace phyllo
