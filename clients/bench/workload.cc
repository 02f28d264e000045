// Chat k draws from a sequence of random numbers of its own, so its tokens do not depend on when it
// is made or on what other chats draw.
#include "clients/bench/workload.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace phyllo {
namespace {

constexpr uint64_t kPrefixStream = 0x707265666978;  // not one of a chat

}  // namespace

absl::StatusOr<Workload> Workload::Create(const LoadOptions& options, int64_t vocab_size,
                                          int64_t max_sequence_length,
                                          std::vector<int32_t> text_ids) {
  const int64_t turn = options.prompt_tokens.max() + options.output_tokens.max();
  const int64_t longest = options.shared_prefix_tokens + options.turns * turn;
  if (longest > max_sequence_length) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chat can have ", longest, " tokens (shared prefix ",
                     options.shared_prefix_tokens, " + ", options.turns, " turns of prompt ",
                     options.prompt_tokens.max(), " and output ", options.output_tokens.max(),
                     "), the server's max_sequence_length is ", max_sequence_length));
  }
  if (vocab_size < 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server's vocab_size is ", vocab_size, ", must be at least 1"));
  }
  return Workload(options, vocab_size, std::move(text_ids));
}

// Without the salt a second run with the same seed would find all its prompts in the server's
// prefix cache.
Workload::Workload(const LoadOptions& options, int64_t vocab_size, std::vector<int32_t> text_ids)
    : options_(options),
      vocab_size_(vocab_size),
      text_ids_(std::move(text_ids)),
      prefix_cache_salt_(absl::StrCat("bench-", absl::ToUnixNanos(absl::Now()))) {
  RandomNumbers random(options_.seed, kPrefixStream);
  AppendTokens(options_.shared_prefix_tokens, random, shared_prefix_);
}

Chat Workload::NewChat() {
  const int64_t index = next_chat_++;
  return {.random = RandomNumbers(options_.seed, static_cast<uint64_t>(index)),
          .index = index,
          .turn = 0,
          .token_ids = shared_prefix_};
}

gateway::v1::GenerateRequest Workload::NextTurn(Chat& chat) const {
  AppendTokens(options_.prompt_tokens.Draw(chat.random), chat.random, chat.token_ids);
  gateway::v1::GenerateRequest request = options_.request;
  request.mutable_token_ids()->mutable_ids()->Assign(chat.token_ids.begin(), chat.token_ids.end());
  request.mutable_output()->set_token_ids(true);
  auto& stopping = *request.mutable_stopping();
  stopping.set_max_new_tokens(static_cast<int32_t>(options_.output_tokens.Draw(chat.random)));
  if (!stopping.has_ignore_eos()) stopping.set_ignore_eos(true);
  auto& sampling = *request.mutable_sampling();
  if (!sampling.has_temperature()) sampling.set_temperature(0);
  if (!sampling.has_seed()) {
    sampling.set_seed(options_.seed +
                      static_cast<uint64_t>(chat.index * options_.turns + chat.turn));
  }
  auto& context = *request.mutable_context();
  if (!context.has_prefix_cache_salt()) context.set_prefix_cache_salt(prefix_cache_salt_);
  ++chat.turn;
  return request;
}

void Workload::AppendTokens(int64_t count, RandomNumbers& random,
                            std::vector<int32_t>& token_ids) const {
  const int64_t text_size = static_cast<int64_t>(text_ids_.size());
  int64_t place = text_size > 0 ? random.UniformInt(0, text_size - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    if (text_size > 0) {
      token_ids.push_back(text_ids_[static_cast<size_t>(place++ % text_size)]);
    } else {
      token_ids.push_back(static_cast<int32_t>(random.UniformInt(0, vocab_size_ - 1)));
    }
  }
}

}  // namespace phyllo
