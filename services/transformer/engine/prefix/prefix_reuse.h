// What the sequences of an engine take from the prefix cache, and what they leave in it.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_REUSE_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_REUSE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/types/span.h"
#include "services/transformer/engine/prefix/prefix_cache.h"
#include "services/transformer/engine/prefix/prefix_counts.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// Thread-compatible: of the step thread.
class PrefixReuse {
 public:
  // Borrows the model. Without a cache nothing is found and nothing stored.
  PrefixReuse(StepModel& model, bool enabled);

  // Looks for the beginnings of the first few sequences, in order of service, that have computed
  // nothing yet. One that waits learns what it would find and from where on rows are needed; one
  // that runs takes the pages.
  void MatchFirst(absl::Span<const std::unique_ptr<Sequence>> sequences);

  // Gives a sequence that is admitted the pages that it was said to find. False if there are fewer:
  // then what was planned for this step does not fit.
  [[nodiscard]] bool Admit(Sequence& sequence);

  // After a step, before pages are given back: stores the pages that the sequence has filled.
  // `finite` says whether its last row is: then all keys and values it could see are.
  void Store(Sequence& sequence, bool finite);

  // Before the sequence loses all its pages: stores the last one too. After rows that were not
  // finite, or if `discard`, its pages are forgotten instead.
  void Release(Sequence& sequence, bool discard);

  // Takes all pages of a sequence, which go on being found.
  void Preempt(Sequence& sequence) {
    Release(sequence, /*discard=*/false);
    sequence.Preempt();
  }

  // Takes all pages of a sequence that goes on in its place with keys computed anew.
  void Recompute(Sequence& sequence) {
    Release(sequence, /*discard=*/false);
    sequence.Recompute();
  }

  // Counts what a sequence found that begins.
  void CountStart(Sequence& sequence);
  // What was counted since the last call.
  PrefixCounts TakeCounts();

  int64_t cached_page_count() const { return cache_ ? cache_->page_count() : 0; }
  int64_t evicted_page_count() const { return cache_ ? cache_->evicted_page_count() : 0; }

 private:
  bool Uses(const Sequence& sequence) const;
  void Match(Sequence& sequence);
  void Attach(Sequence& sequence, int64_t limit);
  // The positions at the beginning that the sequence need not compute itself: all before the last,
  // whose row it needs, and before the first that is scored or pooled.
  int64_t Limit(const Sequence& sequence) const;
  // Positions whose keys depend on the tokens before them only.
  int64_t StorablePositions(const Sequence& sequence, int64_t position_count) const;

  StepModel& model_;
  std::optional<PrefixCache> cache_;
  PrefixCounts counts_;
  int64_t counted_evictions_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_REUSE_H_
