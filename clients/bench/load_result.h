// What was measured of a load.
#ifndef PHYLLO_CLIENTS_BENCH_LOAD_RESULT_H_
#define PHYLLO_CLIENTS_BENCH_LOAD_RESULT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace phyllo {

// Requests that failed with one code.
struct LoadError {
  int64_t count = 0;
  std::string message;  // of the first
};

// Times are seconds, by this client's clock: from the call (in an open loop, from the time it was
// due) to a message's arrival here. The latencies are those of requests that were answered to the
// end; tokens count wherever they came.
struct LoadResult {
  double seconds = 0;  // from the start of the load to the last message
  int64_t completed_count = 0;
  int64_t cancelled_count = 0;  // by Ctrl-C
  int64_t peak_concurrency = 0;
  std::map<absl::StatusCode, LoadError> errors;

  std::vector<double> time_to_first_token;    // one a request
  std::vector<double> inter_token_latency;    // one a message after the first: from the one before
  std::vector<double> time_per_output_token;  // one a request: first to last token / tokens between
  std::vector<double> end_to_end_latency;     // one a request

  int64_t message_count = 0;  // that brought tokens
  int64_t output_token_count = 0;
  int64_t prompt_token_count = 0;  // of requests with a first token
  // As the server says of requests that were answered to the end.
  int64_t cached_prompt_token_count = 0;
  int64_t preemption_count = 0;
  int64_t drafted_token_count = 0;
  int64_t accepted_token_count = 0;

  int64_t failed_count() const {
    int64_t count = 0;
    for (const auto& [code, error] : errors) count += error.count;
    return count;
  }
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_LOAD_RESULT_H_
