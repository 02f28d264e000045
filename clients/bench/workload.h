// The requests of a load, one by one.
#ifndef PHYLLO_CLIENTS_BENCH_WORKLOAD_H_
#define PHYLLO_CLIENTS_BENCH_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clients/bench/load_options.h"
#include "clients/bench/random_numbers.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// A conversation under way.
struct Chat {
  RandomNumbers random{0};
  int64_t index = 0;               // among the chats of the load
  int64_t turn = 0;                // requests that were made of it
  std::vector<int32_t> token_ids;  // all so far, prompts and answers [n]
};

// Makes requests from options and a seed. Thread-compatible.
class Workload {
 public:
  // `text_ids` are what prompts are cut from; empty: ids are drawn from [0, vocab_size).
  // INVALID_ARGUMENT if the longest chat does not fit into max_sequence_length tokens.
  static absl::StatusOr<Workload> Create(const LoadOptions& options, int64_t vocab_size,
                                         int64_t max_sequence_length,
                                         std::vector<int32_t> text_ids);

  // The next one, without a turn. The first tokens of all are the shared prefix.
  Chat NewChat();
  // Adds new tokens to the chat and returns the request that goes on with it.
  gateway::v1::GenerateRequest NextTurn(Chat& chat) const;
  // Whether the chat has had all its turns.
  bool IsOver(const Chat& chat) const { return chat.turn >= options_.turns; }

 private:
  Workload(const LoadOptions& options, int64_t vocab_size, std::vector<int32_t> text_ids);

  // Appends `count` tokens.
  void AppendTokens(int64_t count, RandomNumbers& random, std::vector<int32_t>& token_ids) const;

  LoadOptions options_;
  int64_t vocab_size_;
  std::vector<int32_t> text_ids_;
  std::vector<int32_t> shared_prefix_;
  std::string prefix_cache_salt_;
  int64_t next_chat_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_WORKLOAD_H_
