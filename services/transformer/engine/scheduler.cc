// Invariants within one PlanStep:
// - free_page_count_ counts the pages that neither a snapshot nor a grant holds; it never goes
// below zero.
// - A preempted sequence has no rows and is not admitted again in the same step.
#include "services/transformer/engine/scheduler.h"

#include <algorithm>
#include <cstdint>

namespace phyllo {

const StepPlan& Scheduler::PlanStep(absl::Span<const SequenceSnapshot> sequences,
                                    int64_t free_page_count) {
  sequences_ = sequences;
  free_page_count_ = free_page_count;
  rows_left_ = options_.max_rows;
  prefill_rows_left_ = options_.max_prefill_rows;
  grants_.assign(sequences.size(), Grant{});
  plan_.preempted.clear();
  plan_.admitted.clear();
  plan_.slices.clear();
  const auto size = static_cast<int64_t>(sequences.size());
  for (int64_t i = 0; i < size; ++i) grants_[i].running = sequences[i].running;

  for (const bool decode : {true, false}) {
    for (int64_t i = 0; i < size; ++i) {
      const int64_t missing = sequences[i].token_count - sequences[i].computed_count;
      if (!grants_[i].running || (missing == 1) != decode) continue;
      const int64_t ready = sequences[i].ready_count - sequences[i].computed_count;
      GrantRows(i, decode ? ready : std::min(ready, prefill_rows_left_));
    }
  }
  if (plan_.preempted.empty()) AdmitWaiting();

  for (int64_t i = 0; i < size; ++i) {
    if (grants_[i].row_count > 0) plan_.slices.push_back({sequences[i].id, grants_[i].row_count});
  }
  return plan_;
}

void Scheduler::GrantRows(int64_t index, int64_t row_count) {
  const SequenceSnapshot& sequence = sequences_[index];
  int64_t rows = std::min(row_count, rows_left_);
  if (rows <= 0) return;
  while (PagesFor(sequence.computed_count + rows) - sequence.page_count > free_page_count_ &&
         PreemptAfter(index)) {
  }
  rows = std::min(rows, (sequence.page_count + free_page_count_) * options_.page_size -
                            sequence.computed_count);
  if (rows <= 0) return;
  Grant& grant = grants_[index];
  grant.row_count = rows;
  grant.new_page_count =
      std::max<int64_t>(0, PagesFor(sequence.computed_count + rows) - sequence.page_count);
  free_page_count_ -= grant.new_page_count;
  rows_left_ -= rows;
  if (sequence.token_count - sequence.computed_count > 1) prefill_rows_left_ -= rows;
}

bool Scheduler::PreemptAfter(int64_t index) {
  for (int64_t i = static_cast<int64_t>(sequences_.size()) - 1; i > index; --i) {
    Grant& grant = grants_[i];
    const int64_t pages = sequences_[i].page_count + grant.new_page_count;
    if (!grant.running || pages == 0) continue;
    free_page_count_ += pages;
    rows_left_ += grant.row_count;
    if (sequences_[i].token_count - sequences_[i].computed_count > 1)
      prefill_rows_left_ += grant.row_count;
    grant = Grant{.preempted = true};
    plan_.preempted.push_back(sequences_[i].id);
    return true;
  }
  return false;
}

void Scheduler::AdmitWaiting() {
  const auto size = static_cast<int64_t>(sequences_.size());
  int64_t running_count = 0;
  int64_t promised_page_count =
      0;  // running sequences will take these for tokens they already have
  for (int64_t i = 0; i < size; ++i) {
    if (!grants_[i].running) continue;
    ++running_count;
    const int64_t held = sequences_[i].page_count + grants_[i].new_page_count;
    promised_page_count += std::max<int64_t>(0, PagesFor(sequences_[i].token_count) - held);
  }
  for (int64_t i = 0; i < size && running_count < options_.max_sequences; ++i) {
    if (grants_[i].running) continue;
    const int64_t needed = PagesFor(sequences_[i].token_count);
    const int64_t growth = running_count;
    if (needed + promised_page_count + growth > free_page_count_) return;
    grants_[i].running = true;
    plan_.admitted.push_back(sequences_[i].id);
    ++running_count;
    const int64_t ready = sequences_[i].ready_count - sequences_[i].computed_count;
    GrantRows(i, std::min(ready, prefill_rows_left_));
    promised_page_count += needed - grants_[i].new_page_count;
  }
}

}  // namespace phyllo
