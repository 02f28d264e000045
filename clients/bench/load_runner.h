// Puts a load on a gateway and measures it.
#ifndef PHYLLO_CLIENTS_BENCH_LOAD_RUNNER_H_
#define PHYLLO_CLIENTS_BENCH_LOAD_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "clients/bench/load_options.h"
#include "clients/bench/load_result.h"
#include "clients/bench/workload.h"

namespace phyllo {

// How far a load is.
struct LoadRunProgress {
  int64_t ended_count = 0;
  int64_t failed_count = 0;
  int64_t running_count = 0;
  int64_t output_token_count = 0;  // of requests that ended
  double seconds = 0;
};

struct LoadRun {
  std::string address;                             // of a gateway
  const std::atomic<bool>* interrupted = nullptr;  // cancels what is under way; may be null
  std::function<void(const LoadRunProgress&)>
      observer;  // called a few times a second; may be empty
};

// Connects, sends the requests of `workload` over this connection and returns when the last has
// ended; blocks. One thread sends and receives everything, so that the load takes as little as
// possible of a machine that it may share with the server. Gives up after many failures in a row.
// Errors of requests are part of the result.
LoadResult RunLoad(const LoadOptions& options, Workload& workload, const LoadRun& run);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_LOAD_RUNNER_H_
