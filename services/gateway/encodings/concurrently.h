// A bounded number of threads over the inputs of one request.
#ifndef PHYLLO_SERVICES_GATEWAY_ENCODINGS_CONCURRENTLY_H_
#define PHYLLO_SERVICES_GATEWAY_ENCODINGS_CONCURRENTLY_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace phyllo {

// Calls function(index) for indexes 0 .. count - 1, handed out in this order to the calling thread
// and worker_count - 1 others, worker_count >= 1, and waits for all. After an error no further
// index is handed out. Returns the error of the lowest index that has one.
absl::Status ForEachConcurrently(int64_t count, int worker_count,
                                 absl::FunctionRef<absl::Status(int64_t index)> function);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ENCODINGS_CONCURRENTLY_H_
