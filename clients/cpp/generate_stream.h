// The answer of a running generation, message by message.
#ifndef PHYLLO_CLIENTS_CPP_GENERATE_STREAM_H_
#define PHYLLO_CLIENTS_CPP_GENERATE_STREAM_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// Owns one call. Next() is for one thread at a time; Cancel() may be called from any thread while
// the object lives. Made by Client::StreamGenerate; may outlive the client.
class GenerateStream {
 public:
  virtual ~GenerateStream() = default;  // Cancels a call that has not ended.

  // The next message; blocks. No value: the stream ended with OK. The first error or end is
  // returned again by every later call.
  virtual absl::StatusOr<std::optional<gateway::v1::GenerateResponse>> Next() = 0;

  // Ends the call early: Next() answers CANCELLED, after the messages that had already come. The
  // engine stops within a step.
  virtual void Cancel() = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CPP_GENERATE_STREAM_H_
