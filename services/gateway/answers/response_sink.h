// Where the messages of a generation go: to a stream, or together into one answer. There is one
// generation path for both.
#ifndef PHYLLO_SERVICES_GATEWAY_ANSWERS_RESPONSE_SINK_H_
#define PHYLLO_SERVICES_GATEWAY_ANSWERS_RESPONSE_SINK_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "phyllo/gateway/v1/gateway.pb.h"
#include "services/gateway/async/server_calls.h"
#include "services/gateway/async/task.h"

namespace phyllo {

// Takes the messages of one request in order. Thread-compatible.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  // CANCELLED if nobody listens any more.
  virtual Task<absl::Status> Send(gateway::v1::GenerateResponse message) = 0;
  // Whether messages are kept until the last has come.
  virtual bool keeps() const = 0;
};

// Numbers messages and writes them to the client. Borrows the call.
class StreamSink final : public ResponseSink {
 public:
  explicit StreamSink(StreamServerCall<gateway::v1::GenerateResponse>& call) : call_(call) {}

  Task<absl::Status> Send(gateway::v1::GenerateResponse message) override {
    message.set_sequence_number(next_number_++);
    const bool sent = co_await call_.Write(message);
    co_return sent ? absl::OkStatus()
                   : absl::CancelledError("the client is gone, or reads too slowly");
  }
  bool keeps() const override { return false; }

 private:
  StreamServerCall<gateway::v1::GenerateResponse>& call_;
  int64_t next_number_ = 0;
};

// Joins messages into whole answers. Borrows `response`.
class CollectingSink final : public ResponseSink {
 public:
  explicit CollectingSink(gateway::v1::GenerateUnaryResponse& response) : response_(response) {}

  Task<absl::Status> Send(gateway::v1::GenerateResponse message) override {
    while (response_.choices_size() <= message.choice_index()) response_.add_choices();
    gateway::v1::Choice& choice = *response_.mutable_choices(message.choice_index());
    if (message.has_delta()) {
      choice.mutable_answer()->mutable_text()->append(message.delta().text());
      message.mutable_delta()->clear_text();
      // Appends the repeated fields; the text is not set and stays.
      choice.mutable_answer()->MergeFrom(message.delta());
    } else if (message.has_finished()) {
      choice.mutable_finished()->Swap(message.mutable_finished());
    }
    co_return absl::OkStatus();
  }
  bool keeps() const override { return true; }

 private:
  gateway::v1::GenerateUnaryResponse& response_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ANSWERS_RESPONSE_SINK_H_
