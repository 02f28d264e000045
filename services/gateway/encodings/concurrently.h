// A bounded number of tasks over the inputs of one request.
#ifndef PHYLLO_SERVICES_GATEWAY_ENCODINGS_CONCURRENTLY_H_
#define PHYLLO_SERVICES_GATEWAY_ENCODINGS_CONCURRENTLY_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "services/gateway/async/task.h"

namespace phyllo {

// Calls function(index) for indexes 0 .. count - 1, handed out in this order to `worker_count` >= 1
// tasks, and waits for all. After an error no further index is handed out. Returns the error of the
// lowest index that has one. `function` is called by several threads at once.
Task<absl::Status> ForEachConcurrently(
    int64_t count, int worker_count,
    const std::function<Task<absl::Status>(int64_t index)>& function);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ENCODINGS_CONCURRENTLY_H_
