// What `phyllo bench` asks of a server.
#ifndef PHYLLO_CLIENTS_BENCH_LOAD_OPTIONS_H_
#define PHYLLO_CLIENTS_BENCH_LOAD_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "clients/bench/length_distribution.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// A closed loop keeps `concurrency` requests under way: the next begins when one ends. An open loop
// begins requests at random times, however fast they are answered.
struct LoadOptions {
  LengthDistribution prompt_tokens{128};  // tokens that each turn adds
  LengthDistribution output_tokens{64};   // max_new_tokens of each request

  // Requests under way at once, in [1, kMaxConcurrency]. In an open loop the most; a request that
  // must wait for a place is measured from the time it was due. 0: 1, or the most of an open loop.
  int64_t concurrency = 0;
  // New chats a second (requests, if turns is 1) of an open loop; 0: a closed loop.
  double request_rate = 0;

  // No request begins after so many, 0: no limit; nor after this time. Those under way are
  // finished.
  int64_t num_requests = 0;
  absl::Duration duration = absl::InfiniteDuration();
  // Of each request, which fails with DEADLINE_EXCEEDED after it.
  absl::Duration timeout = absl::InfiniteDuration();

  // Requests of a chat: each turn is the whole chat so far, with the answers, and new tokens.
  int64_t turns = 1;
  // First tokens of all chats, the same in each.
  int64_t shared_prefix_tokens = 0;
  // Of everything random. The n-th chat is the same whatever else happens.
  uint64_t seed = 1;
  // A text file that prompts are cut from; empty: random token ids.
  std::string prompt_file;

  // The parameters of every request.
  gateway::v1::GenerateRequest request;

  static constexpr int64_t kMaxConcurrency = 1024;
  static constexpr double kMaxRequestRate = 100000;
  static constexpr int64_t kMaxTurns = 1000;
};

// Fills in what is 0 by default. INVALID_ARGUMENT that names the option, its value and its range.
absl::Status FinishLoadOptions(LoadOptions& options);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_LOAD_OPTIONS_H_
