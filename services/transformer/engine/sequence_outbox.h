// What the engine has to tell the reader of one sequence. The engine never waits: news is merged
// until the reader takes it.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SEQUENCE_OUTBOX_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SEQUENCE_OUTBOX_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "model/base/memory_budget.h"
#include "model/sampling/sampler.h"
#include "services/transformer/engine/prompt_feed.h"

namespace phyllo {

enum class FinishReason {
  kEos,           // an end-of-sequence id of the model
  kStopToken,     // a stop id of the request
  kLength,        // max_new_tokens were generated
  kContextLimit,  // the sequence has as many tokens as the model or the cache admits
  kTimeLimit,     // the request's time limit passed
  kScored,        // every prompt token asked for was scored, and none was to be generated
  kEncoded,       // the prompt was encoded
};

// What an encoding gives: vectors [rows, cols] after the final norm, or the logits [1, num_labels]
// of the head.
struct SequenceEncoding {
  bool is_labels = false;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> values;
};

// How a sequence ended. Times are on the engine's clock.
struct SequenceResult {
  absl::Status
      status;  // OK: finish_reason says why. Otherwise the sequence failed or was cancelled
  FinishReason finish_reason = FinishReason::kLength;
  int64_t prompt_token_count = 0;
  int64_t cached_prompt_token_count = 0;  // of them, those found in the prefix cache at the start
  int64_t generated_token_count = 0;      // those given at submission included
  int64_t preemption_count = 0;
  int64_t drafted_token_count = 0;           // rows of tokens that were guessed
  int64_t accepted_token_count = 0;          // of them, those that were right
  absl::Duration queue_time;                 // from submission to the first step
  absl::Duration prefill_time;               // from the first step to the first token
  absl::Duration decode_time;                // from the first token to the last
  std::optional<SequenceEncoding> encoding;  // set if finish_reason is kEncoded
};

struct PrefillProgress {
  int64_t done_count = 0;
  int64_t total_count = 0;
};

// What happened to a sequence so far, as SequenceResult counts it.
struct SequenceCounts {
  int64_t preemption_count = 0;
  int64_t drafted_token_count = 0;
  int64_t accepted_token_count = 0;
};

// Everything new since the reader last looked. Vectors may be empty.
struct SequenceNews {
  std::vector<RowRange> needs;
  std::optional<PrefillProgress> prefill_progress;
  // Once, when the first token is there: counts and times so far.
  std::optional<SequenceResult> prefilled;
  int64_t first_scored_index = 0;           // index in the prompt of scored_tokens.front()
  std::vector<SampledToken> scored_tokens;  // prompt tokens in order
  int64_t first_token_index = 0;            // index among all generated tokens of tokens.front()
  std::vector<SampledToken> tokens;
  SequenceCounts counts;                 // as of tokens.back()
  std::optional<SequenceResult> result;  // the last news there is
  MemoryReservation memory;              // of the tokens, until they are written

  // Nothing but tokens that follow others.
  bool can_wait() const {
    return !tokens.empty() && needs.empty() && !prefill_progress && !prefilled &&
           scored_tokens.empty() && !result;
  }
  bool empty() const {
    return needs.empty() && !prefill_progress && !prefilled && scored_tokens.empty() &&
           tokens.empty() && !result;
  }
};

// How soon a reader wants to be told of its news.
enum class NewsUrgency {
  kCanWait,  // tokens that follow others: more may be taken with them
  kNow,      // anything else: the first token, a need, the end
};
using NewsCallback = std::function<void(NewsUrgency)>;

// What one token takes in a sequence: its id in the request, the sequence and the history, its
// place among the occurrences of all tokens, and its place in the index that drafts are found by.
inline constexpr int64_t kSequenceTokenBytes = 64;
// What an unread token and each of its top_logprobs take here, in a message and in its serialised
// form.
inline constexpr int64_t kUnreadTokenBytes = 256;
inline constexpr int64_t kUnreadLogprobBytes = 96;

// One writer, the engine's step thread; one reader. Thread-safe. Owned jointly by the engine, which
// writes until the result, and the stream that reads; either may let go first.
class SequenceOutbox {
 public:
  // Holds at most `max_unread_entries` entries (a token is one, each of its top_logprobs another).
  // `memory` is what the request takes for as long as the outbox lives; unread tokens make it grow.
  // `on_news` is called without a lock held, from the step thread, when the outbox turns from empty
  // to not empty, and when its news gets more urgent; it must not block.
  SequenceOutbox(int64_t max_unread_entries, NewsCallback on_news, MemoryReservation memory = {});

  // Step thread. RESOURCE_EXHAUSTED, naming the limit, if the token did not fit because readers are
  // too slow: the sequence must end. `counts` are those with this token.
  absl::Status AddToken(int64_t index, SampledToken token, const SequenceCounts& counts = {})
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AddScoredToken(int64_t index, SampledToken token) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddNeed(RowRange need) ABSL_LOCKS_EXCLUDED(mutex_);
  void SetPrefillProgress(PrefillProgress progress) ABSL_LOCKS_EXCLUDED(mutex_);
  void SetPrefilled(SequenceResult so_far) ABSL_LOCKS_EXCLUDED(mutex_);
  // The last call: nothing may be added afterwards.
  void Finish(SequenceResult result) ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells the reader, if there is news it was not told of. At the end of a step, so that the step's
  // news comes as one.
  void Flush() ABSL_LOCKS_EXCLUDED(mutex_);

  // Reader. Takes all news; empty() if there is none.
  SequenceNews Take() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Makes room for a token, and for `kept_bytes` that are not given back when it is taken.
  absl::Status Reserve(const SampledToken& token, int64_t kept_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_unread_entries_;
  const NewsCallback on_news_;
  absl::Mutex mutex_;
  SequenceNews news_ ABSL_GUARDED_BY(mutex_);
  int64_t unread_entries_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t unread_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of memory_
  MemoryReservation memory_ ABSL_GUARDED_BY(mutex_);
  // What on_news was last called with since the reader took something.
  std::optional<NewsUrgency> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SEQUENCE_OUTBOX_H_
