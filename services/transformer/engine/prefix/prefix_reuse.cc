#include "services/transformer/engine/prefix/prefix_reuse.h"

#include <algorithm>
#include <utility>

namespace phyllo {
namespace {

// From `position` on the sequence computes itself and needs rows.
void MoveFeed(Sequence& sequence, int64_t position) {
  const int64_t first = std::min(position, sequence.prompt_count());
  if (first < sequence.feed.next_position()) {
    sequence.feed.Restart();
    sequence.rows_asked_time.reset();
  }
  sequence.feed.SkipTo(first);
}

}  // namespace

PrefixReuse::PrefixReuse(StepModel& model, bool enabled) : model_(model) {
  if (enabled) cache_.emplace(model);
}

bool PrefixReuse::Uses(const Sequence& sequence) const {
  // Rows that the client gives need not be those of any ids.
  return cache_.has_value() && sequence.request.use_prefix_cache &&
         !sequence.request.prompt_is_hidden_states;
}

int64_t PrefixReuse::StorablePositions(const Sequence& sequence, int64_t position_count) const {
  return std::min(position_count, model_.ReusablePositions(sequence.rope_length));
}

int64_t PrefixReuse::Limit(const Sequence& sequence) const {
  int64_t limit = sequence.tokens_to_compute() - 1;
  // Once the prompt is scored, whatever was generated behind it may be found as well.
  if (sequence.request.encoding || sequence.next_scored_index < sequence.prompt_count())
    limit = std::min(limit, sequence.first_needed_position());
  return std::max<int64_t>(0, StorablePositions(sequence, limit));
}

void PrefixReuse::MatchFirst(absl::Span<const std::unique_ptr<Sequence>> sequences) {
  constexpr int64_t kFirst = 8;
  int64_t count = 0;
  for (const std::unique_ptr<Sequence>& sequence : sequences) {
    if (sequence->finished || sequence->computed_count > sequence->cached_count) continue;
    // What those behind them find shows when it is their turn; what they once found may be gone.
    if (++count > kFirst) {
      sequence->match = {};
    } else if (Uses(*sequence)) {
      Match(*sequence);
    }
  }
}

void PrefixReuse::Match(Sequence& sequence) {
  const PrefixCache::Match match =
      cache_->Find(sequence.request.cache_name, sequence.token_ids, Limit(sequence));
  if (!sequence.running) {
    sequence.match = match;
    MoveFeed(sequence, match.token_count);
  } else if (match.token_count > sequence.cached_count) {
    sequence.path = PrefixCache::Path();
    sequence.pages.Clear();
    Attach(sequence, match.token_count);
  }
}

bool PrefixReuse::Admit(Sequence& sequence) {
  if (!Uses(sequence)) return true;
  // No more than was planned with: what is more was not counted.
  const int64_t planned_count = std::exchange(sequence.match, {}).token_count;
  Attach(sequence, planned_count);
  return sequence.cached_count == planned_count;
}

void PrefixReuse::Attach(Sequence& sequence, int64_t limit) {
  sequence.path =
      cache_->Attach(sequence.request.cache_name, sequence.token_ids, limit, sequence.pages);
  sequence.computed_count = sequence.cached_count = sequence.path.token_count();
  MoveFeed(sequence, sequence.computed_count);
}

void PrefixReuse::Store(Sequence& sequence, bool finite) {
  if (!Uses(sequence)) return;
  sequence.finite = sequence.finite && finite;
  if (!sequence.finite) return;
  cache_->Insert(sequence.path, sequence.token_ids,
                 StorablePositions(sequence, sequence.computed_count), sequence.pages);
}

void PrefixReuse::Release(Sequence& sequence, bool discard) {
  if (!Uses(sequence) || sequence.pages.page_count() == 0) return;
  if (discard || !sequence.finite) {
    cache_->Forget(sequence.pages);
  } else {
    cache_->InsertTail(sequence.path, sequence.token_ids,
                       StorablePositions(sequence, sequence.computed_count), sequence.pages);
  }
  sequence.path = PrefixCache::Path();
  sequence.cached_count = 0;
}

void PrefixReuse::CountStart(Sequence& sequence) {
  if (!Uses(sequence)) return;
  sequence.cached_prompt_count = std::min(sequence.cached_count, sequence.prompt_count());
  counts_.query_count += sequence.prompt_count();
  counts_.hit_count += sequence.cached_prompt_count;
}

PrefixCounts PrefixReuse::TakeCounts() {
  PrefixCounts counts = std::exchange(counts_, {});
  counts.evicted_page_count =
      evicted_page_count() - std::exchange(counted_evictions_, evicted_page_count());
  return counts;
}

}  // namespace phyllo
