// One request inside the engine: its tokens, pages, rows and times.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SEQUENCE_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/heads/pooling.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/sampling/sampling_parameters.h"
#include "model/sampling/token_history.h"
#include "services/transformer/engine/admission/waiting_bounds.h"
#include "services/transformer/engine/prefix/prefix_cache.h"
#include "services/transformer/engine/prompt_feed.h"
#include "services/transformer/engine/scheduling/page_counts.h"
#include "services/transformer/engine/scheduling/scheduler.h"
#include "services/transformer/engine/sequence_outbox.h"
#include "services/transformer/engine/speculation/sequence_draft.h"

namespace phyllo {

// Asks for the outputs of the model's label head, or for pooled hidden states.
struct EncodingRequest {
  // Absent: the model's own, which is its label head if it has one, else its default pooling. The
  // engine fills it in when it takes the request.
  std::optional<Pooling> pooling;
  bool labels = false;  // the label head reads the pooled state; the engine decides
};

// What is asked of the engine. Ids in [0, v).
struct SequenceRequest {
  std::vector<int32_t> prompt_token_ids;  // [n], n >= 1
  // The prompt is given by its rows alone: its ids may be kNoTokenId, say nothing about the rows,
  // and count for the penalties only.
  bool prompt_is_hidden_states = false;
  // Ids this sequence has produced before, here or elsewhere; it goes on after them as if it had
  // never stopped.
  std::vector<int32_t> generated_token_ids;
  // Counts generated_token_ids as well. 0 generates nothing: the prompt is only scored.
  int64_t max_new_tokens = 0;
  // How tokens are chosen; stop_token_ids are the request's own, the engine adds the model's
  // end-of-sequence ids.
  SamplingParameters sampling;
  bool ignore_eos = false;

  // If set, the prompt tokens from this index on, at least 1, get log-probabilities as
  // prompt_logprobs says (of which only top_logprobs and logprob_token_ids are read).
  std::optional<int64_t> first_scored_index;
  SamplingParameters prompt_logprobs;

  // If set, the prompt is encoded: nothing is generated or scored, and the result has the encoding.
  std::optional<EncodingRequest> encoding;

  // Only how soon tokens come depends on it.
  SpeculationRequest speculation;

  // Takes keys and values of its first tokens from the prefix cache, and leaves its own there.
  bool use_prefix_cache = true;
  std::string cache_name;  // only sequences of one name share: the tenant and its salt

  int32_t priority = 0;                      // larger is served earlier
  std::optional<absl::Time> deadline;        // on the engine's clock
  std::optional<absl::Duration> time_limit;  // from submission
};

// Limits that hold for every sequence of an engine.
struct SequenceLimits {
  int64_t vocab_size = 0;           // v
  int64_t max_sequence_length = 0;  // prompt and output together
  std::vector<int32_t> eos_token_ids;
  std::optional<int64_t> recompute_length = std::nullopt;  // as in StepModelSizes
};

// INVALID_ARGUMENT naming the field, its value and its range; OK otherwise.
absl::Status ValidateSequenceRequest(const SequenceRequest& request, const SequenceLimits& limits);

// What a sequence computes with.
struct SequenceStorage {
  PromptFeed feed;
  SequencePages pages;
};

// Owns everything of one sequence. Made by the submitting thread, then only touched by the step
// thread. Thread-compatible.
class Sequence {
 public:
  // `limits` is borrowed. The request must be valid.
  Sequence(SequenceId id, SequenceRequest request, std::shared_ptr<SequenceOutbox> outbox,
           const SequenceLimits& limits, SequenceStorage storage);

  // What the scheduler sees, but for `sole` of a running sequence.
  SequenceSnapshot Snapshot() const;
  // Its pages that nobody else holds. Looks at every one of them.
  PageCounts SolePageCounts() const;
  // Tokens that must be computed before the next can be sampled, or before the last prompt token is
  // scored, or before the prompt is encoded.
  int64_t tokens_to_compute() const;
  // The prompt positions below it need not be computed if their keys and values are at hand:
  // nothing is read from their rows. At most the last position.
  int64_t first_needed_position() const;
  // Why no further token is to be sampled; absent while one is.
  std::optional<FinishReason> Finished() const;
  // Appends a sampled token.
  void Append(int32_t token_id);
  // Whether it has grown to the length at which the model wants all keys computed anew. Not before
  // the prompt is scored: its scores are those of the prompt's own length.
  bool MustRecompute() const;
  // Gives all pages back and forgets what they held; it keeps its place in the batch and computes
  // all its tokens once more, with rope_length of now.
  void Recompute();
  // Gives all pages back and forgets what they held.
  void Preempt();
  // The counts and times so far; status and reason are left to the caller.
  SequenceResult MakeResult() const;

  const SequenceId id;
  const SequenceRequest request;
  const std::shared_ptr<SequenceOutbox> outbox;  // shared with the stream that reads it

  std::vector<int32_t> token_ids;  // prompt, then output
  TokenHistory history;
  PromptFeed feed;
  SequencePages pages;
  bool running = false;
  bool finished = false;
  // StepSlice::prompt_length: that of the prompt, or the length at which it was computed anew.
  int64_t rope_length = 0;
  int64_t computed_count = 0;     // tokens whose keys and values are in `pages`
  int64_t next_scored_index = 0;  // prompt tokens below it are scored, or not to be
  // Of an encoding: takes the rows as they are computed. The result, once it is complete.
  std::optional<Pooler> pooler;
  std::optional<SequenceEncoding> encoding;
  int64_t preemption_count = 0;
  SequenceDraft draft;

  PrefixCache::Match match;         // while it waits: what it would find
  PrefixCache::Path path;           // while it runs: how far its pages are stored
  int64_t cached_count = 0;         // tokens that were found when it was admitted
  int64_t cached_prompt_count = 0;  // of the prompt, when it began
  bool as_planned = true;           // false: found other pages than the plan of this step expects
  bool finite = true;               // so far no row was seen that is not

  WaitingPermit waiting_permit;  // until it is in the batch for the first time, or ends
  bool sampled = false;          // by the current step
  absl::Status step_status;      // of this sequence in the current step

  absl::Time submit_time;
  std::optional<absl::Time> first_step_time;
  std::optional<absl::Time> first_token_time;
  std::optional<absl::Time> last_token_time;
  std::optional<absl::Time> rows_asked_time;  // set while rows are awaited

  int64_t prompt_count() const { return static_cast<int64_t>(request.prompt_token_ids.size()); }
  int64_t generated_count() const {
    return static_cast<int64_t>(token_ids.size()) - prompt_count();
  }

 private:
  // Is longer than its keys are rotated for.
  bool HasOutgrownRope() const;
  void LosePages();

  const SequenceLimits& limits_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SEQUENCE_H_
