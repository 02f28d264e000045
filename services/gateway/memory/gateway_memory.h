// The memory that the gateway may come to use, part by part, against what it may have.
#ifndef PHYLLO_SERVICES_GATEWAY_MEMORY_GATEWAY_MEMORY_H_
#define PHYLLO_SERVICES_GATEWAY_MEMORY_GATEWAY_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "services/gateway/requests/admission.h"
#include "services/gateway/requests/generation_request.h"

namespace phyllo {

// Bytes, each the most that there can be. A plain value.
struct GatewayMemory {
  int64_t requests = 0;   // messages, what is made of them, and answers that are held back
  int64_t messages = 0;   // that are being read and are not admitted yet
  int64_t calls = 0;      // that are under way: what waits of them, and what gRPC keeps
  int64_t transport = 0;  // gRPC's buffers
  int64_t program = 0;    // the program itself

  int64_t total() const { return requests + messages + calls + transport + program; }
};

// --max_request_bytes where it is left open: a 64th of the memory, on many CPUs less, within [8
// MiB, 256 MiB]; 256 MiB if the memory is not known (0).
int64_t DefaultRequestBytes(int64_t memory_bytes, int64_t machine_cpu_count);

// No client may send a larger message: it would not be admitted.
int64_t MaxMessageBytes(const AdmissionLimits& limits);

struct GatewayServerLimits {
  int64_t max_handler_threads = 0;
  int64_t max_transport_bytes = 0;
  int64_t machine_cpu_count = 1;
};
GatewayMemory MostMemory(const AdmissionLimits& limits, const GatewayServerLimits& server);

// RESOURCE_EXHAUSTED, naming every part with its flag and the limit, if it is more than
// `limit_bytes`. 0 = not known, always OK.
absl::Status CheckGatewayMemory(const GatewayMemory& most, int64_t limit_bytes);

// What may be held of the answer to a request: all of it if `whole`, because it is sent when it is
// complete, else the log-probabilities that one message brings. To be counted as bytes of the
// request. Requires that FitPrompt has seen it.
int64_t AnswerBytes(const GenerationRequest& request, int64_t prompt_token_count, bool whole);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_MEMORY_GATEWAY_MEMORY_H_
