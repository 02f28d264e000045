#include "services/gateway/memory/gateway_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/message_limits.h"

namespace phyllo {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
// A text becomes a request to the tokenizer, at most an id a byte, and these a request to the
// transformer; vectors become chunks for the transformer.
constexpr int64_t kRequestCopies = 8;
// A message is there serialised and as an object.
constexpr int64_t kMessageCopies = 2;
// A token of an answer: its id and its text.
constexpr int64_t kTokenBytes = 64;
// What gRPC keeps of a call and of those that are made on its behalf, and the tasks that wait for
// them; of a call of the reflection service, which holds a thread, what is resident of its stack.
constexpr int64_t kCallBytes = 128 * 1024;
// A request that is alone may be answered so often, however few are admitted.
constexpr int64_t kMostChoices = 128;
constexpr int64_t kProgramBytes = 64 * kMebibyte;
// A log-probability in a message, with the bytes of its token.
constexpr int64_t kLogprobBytes = 128;
// What the transformer lets wait for a slow reader comes as one message (its --max_unread_entries).
constexpr int64_t kMostUnreadLogprobs = 65536;

int64_t LogprobsOfAToken(const common::v1::LogprobParameters& parameters) {
  return 1 + parameters.top_count() + parameters.token_ids_size();
}

}  // namespace

int64_t DefaultRequestBytes(int64_t memory_bytes, int64_t machine_cpu_count) {
  if (memory_bytes <= 0) return 256 * kMebibyte;
  const int64_t parts = std::max(int64_t{64}, 16 * ReadingThreads(machine_cpu_count));
  return std::clamp(memory_bytes / parts, 8 * kMebibyte, 256 * kMebibyte);
}

int64_t MaxMessageBytes(const AdmissionLimits& limits) {
  return std::min<int64_t>(kMaxMessageBytes, limits.max_request_bytes);
}

GatewayMemory MostMemory(const AdmissionLimits& limits, const GatewayServerLimits& server) {
  return {.requests = kRequestCopies * limits.max_request_bytes,
          .messages =
              kMessageCopies * ReadingThreads(server.machine_cpu_count) * MaxMessageBytes(limits),
          .calls = kCallBytes * (server.max_handler_threads + limits.max_requests + kMostChoices),
          .transport = server.max_transport_bytes,
          .program = kProgramBytes};
}

absl::Status CheckGatewayMemory(const GatewayMemory& most, int64_t limit_bytes) {
  if (limit_bytes <= 0 || most.total() <= limit_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the gateway may come to use ", most.total(), " bytes, the limit is ", limit_bytes,
      " (--memory_bytes): requests ", most.requests, " (--max_request_bytes), messages ",
      most.messages, " (--max_request_bytes), calls ", most.calls,
      " (--max_handler_threads, --max_requests), ", "transport ", most.transport,
      " (--max_transport_bytes), program ", most.program));
}

int64_t AnswerBytes(const GenerationRequest& request, int64_t prompt_token_count, bool whole) {
  const gateway::v1::OutputParameters& output = request.wire->output();
  const int64_t token_count = request.run_count * request.stopping.max_new_tokens();
  int64_t logprobs = 0;
  if (output.has_logprobs()) {
    const int64_t all = token_count * LogprobsOfAToken(output.logprobs());
    logprobs += whole ? all : std::min(all, request.run_count * kMostUnreadLogprobs);
  }
  if (output.has_prompt_logprobs())
    logprobs += prompt_token_count * LogprobsOfAToken(output.prompt_logprobs());
  return logprobs * kLogprobBytes + (whole ? token_count * kTokenBytes : 0);
}

}  // namespace phyllo
