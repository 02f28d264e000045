// One request of a load on its way.
#ifndef PHYLLO_CLIENTS_BENCH_STREAMED_REQUEST_H_
#define PHYLLO_CLIENTS_BENCH_STREAMED_REQUEST_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "clients/bench/load_result.h"
#include "clients/bench/workload.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/async_stream.h"
#include "phyllo/gateway/v1/gateway.grpc.pb.h"

namespace phyllo {

// Owns a call whose operations, one at a time, end in a completion queue with this object as their
// tag. Must live until Proceed has returned true. Thread-compatible.
class StreamedRequest {
 public:
  // `start_time` is when it was due; in seconds, as the times below.
  StreamedRequest(Chat chat, double start_time) : chat_(std::move(chat)), start_time_(start_time) {}

  // Calls. The queue must outlive the object.
  void Start(gateway::v1::GatewayService::Stub& stub, const gateway::v1::GenerateRequest& request,
             absl::Duration timeout, grpc::CompletionQueue& queue);

  // Takes the outcome of the operation that came out of the queue at `now` and starts the next.
  // Returns true when the call has ended: then status() is known, and nothing is outstanding.
  bool Proceed(bool ok, double now);

  // The call ends soon, with CANCELLED.
  void Cancel() { context_.TryCancel(); }

  // Adds what was measured; CANCELLED is no error if the load was interrupted. Requires that the
  // call has ended.
  void AddTo(LoadResult& result, bool interrupted) const;

  const absl::Status& status() const { return status_; }
  // With the answer's tokens behind the prompt's.
  Chat& chat() { return chat_; }
  int64_t output_token_count() const { return output_token_count_; }

 private:
  enum class Operation { kCall, kRead, kFinish };

  void TakeMessage(double now);

  Chat chat_;
  const double start_time_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReader<gateway::v1::GenerateResponse>> reader_;
  Operation operation_ = Operation::kCall;
  gateway::v1::GenerateResponse message_;
  grpc::Status grpc_status_;
  absl::Status status_;

  int64_t prompt_token_count_ = 0;
  int64_t output_token_count_ = 0;
  int64_t first_tokens_ = 0;  // of the first message that brought any
  double first_token_time_ = 0;
  double last_token_time_ = 0;
  double end_time_ = 0;
  std::vector<double> message_gaps_;
  common::v1::Usage usage_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_STREAMED_REQUEST_H_
