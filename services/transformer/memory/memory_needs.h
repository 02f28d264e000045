// The memory that the process may come to use, part by part, against what it may have.
#ifndef PHYLLO_SERVICES_TRANSFORMER_MEMORY_MEMORY_NEEDS_H_
#define PHYLLO_SERVICES_TRANSFORMER_MEMORY_MEMORY_NEEDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/transformer/engine/engine_options.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// Bytes, each the most that there can be. A plain value.
struct MemoryNeeds {
  int64_t loaded = 0;        // memory of the process once the model is loaded: weights, even where
                             // they are a map of their file, activations, libraries
  int64_t kv_cache = 0;      // pages, and what the prefix cache notes of them
  int64_t step_buffers = 0;  // hidden states and logits of a step, scratch of the samplers
  int64_t prompt_rows = 0;   // asked for or at hand, of every sequence in the batch and of the next
  int64_t requests = 0;      // requests and streams, queued ones included, and unread answers:
                             // --max_request_bytes
  int64_t transport = 0;     // gRPC's buffers: --max_transport_bytes
  int64_t messages = 0;      // that are being read from the wire
  int64_t program = 0;       // the program itself, and what the allocator loses

  int64_t total() const {
    return loaded + kv_cache + step_buffers + prompt_rows + requests + transport + messages +
           program;
  }
};

// Bytes that one stream takes beside its request: gRPC's call and ours.
inline constexpr int64_t kStreamBytes = 64 * 1024;

// Largest message that a well-behaved client of this model sends: a start with the longest prompt
// and lists of all ids, or a chunk of prompt rows.
int64_t MaxRequestMessageBytes(const StepModelSizes& sizes, const EngineOptions& options);

// Pages of a model, and what the prefix cache notes of them.
int64_t KvCacheBytes(const StepModel& model, int64_t kv_bytes_per_token);

struct MemoryLimits {
  int64_t loaded_bytes = 0;  // ReadAnonymousBytes, after the model was loaded, and mapped weights
  int64_t kv_bytes_per_token = 0;
  int64_t max_request_bytes = 0;
  int64_t max_transport_bytes = 0;
  int64_t reading_threads = 0;  // that read messages from the wire
};
MemoryNeeds NeedsOf(const StepModel& model, const EngineOptions& options,
                    const MemoryLimits& limits);

// RESOURCE_EXHAUSTED, naming every part and the limit, if the needs are more than `limit_bytes`.
// 0 = not known, always OK.
absl::Status CheckMemoryNeeds(const MemoryNeeds& needs, int64_t limit_bytes);

// The anonymous memory (RssAnon) of a /proc/self/status text, in bytes; 0 if it does not say.
int64_t ParseAnonymousBytes(absl::string_view status);
// Of this process.
int64_t ReadAnonymousBytes();

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_MEMORY_MEMORY_NEEDS_H_
