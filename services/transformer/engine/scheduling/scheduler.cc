// Invariants within one PlanStep:
// - free_page_counts_ counts the pages of each group that neither a snapshot nor a grant holds;
// they never go below zero.
// - A preempted sequence has no rows and is not admitted again in the same step.
#include "services/transformer/engine/scheduling/scheduler.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/kv_cache/layer_groups.h"

namespace phyllo {

const StepPlan& Scheduler::PlanStep(absl::Span<const SequenceSnapshot> sequences,
                                    const PageCounts& free_page_counts,
                                    std::optional<int64_t> prefill_rows) {
  sequences_ = sequences;
  free_page_counts_ = free_page_counts;
  rows_left_ = options_.max_rows;
  prefill_rows_left_ =
      std::min(prefill_rows.value_or(options_.max_prefill_rows), options_.max_prefill_rows);
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
    if (grants_[i].row_count == 1 && sequences[i].draft_count > 0) GrantDraft(i);
  }

  for (int64_t i = 0; i < size; ++i) {
    if (grants_[i].row_count > 0) plan_.slices.push_back({sequences[i].id, grants_[i].row_count});
  }
  return plan_;
}

bool Scheduler::MayPreempt(int64_t sequence_count, const PageCounts& free_page_counts) const {
  // Every sequence may begin a page; the rows of the step fill no more than these beside them.
  return LeastOf(free_page_counts) < sequence_count + PagesFor(options_.max_rows);
}

int64_t Scheduler::LeastOf(const PageCounts& page_counts) const {
  return *std::min_element(page_counts.begin(), page_counts.begin() + group_count());
}

int64_t Scheduler::PagesToCome(int64_t index, int64_t group) const {
  const SequenceSnapshot& sequence = sequences_[index];
  const SchedulerGroup& pool = options_.groups[group];
  const int64_t most = std::min(MostHeldPages(pool.window, sequence.token_count,
                                              options_.max_prefill_rows, options_.page_size),
                                pool.page_count);
  return std::max<int64_t>(0, most - sequence.held[group] - grants_[index].new_page_count);
}

void Scheduler::GrantRows(int64_t index, int64_t row_count) {
  const SequenceSnapshot& sequence = sequences_[index];
  int64_t rows = std::min(row_count, rows_left_);
  if (rows <= 0) return;
  while (PagesFor(sequence.computed_count + rows) - sequence.page_count > LeastFreePageCount() &&
         PreemptAfter(index)) {
  }
  rows = std::min(rows, (sequence.page_count + LeastFreePageCount()) * options_.page_size -
                            sequence.computed_count);
  if (rows <= 0) return;
  Grant& grant = grants_[index];
  grant.row_count = rows;
  grant.new_page_count =
      std::max<int64_t>(0, PagesFor(sequence.computed_count + rows) - sequence.page_count);
  for (int64_t group = 0; group < group_count(); ++group)
    free_page_counts_[group] -= grant.new_page_count;
  rows_left_ -= rows;
  if (sequence.token_count - sequence.computed_count > 1) prefill_rows_left_ -= rows;
}

bool Scheduler::PreemptAfter(int64_t index) {
  for (int64_t i = static_cast<int64_t>(sequences_.size()) - 1; i > index; --i) {
    Grant& grant = grants_[i];
    const SequenceSnapshot& sequence = sequences_[i];
    // Pages that several hold come free with the last of them, in a later step.
    if (!grant.running || sequence.page_count + grant.new_page_count == 0) continue;
    for (int64_t group = 0; group < group_count(); ++group)
      free_page_counts_[group] += sequence.sole[group] + grant.new_page_count;
    rows_left_ += grant.row_count;
    if (sequence.token_count - sequence.computed_count > 1) prefill_rows_left_ += grant.row_count;
    grant = Grant{.preempted = true};
    plan_.preempted.push_back(sequence.id);
    return true;
  }
  return false;
}

bool Scheduler::Fits(int64_t index, const PageCounts& promised, int64_t growth) const {
  for (int64_t group = 0; group < group_count(); ++group) {
    const int64_t needed = sequences_[index].sole[group] + PagesToCome(index, group);
    if (needed + promised[group] + growth > free_page_counts_[group]) return false;
  }
  return true;
}

void Scheduler::AdmitWaiting() {
  const auto size = static_cast<int64_t>(sequences_.size());
  int64_t running_count = 0;
  PageCounts promised = {};  // running sequences will take these for tokens they already have
  const auto promise = [&](int64_t index) {
    ++running_count;
    for (int64_t group = 0; group < group_count(); ++group)
      promised[group] += PagesToCome(index, group);
  };
  for (int64_t i = 0; i < size; ++i) {
    if (grants_[i].running) promise(i);
  }
  for (int64_t i = 0; i < size && running_count < options_.max_sequences; ++i) {
    if (grants_[i].running) continue;
    if (!Fits(i, promised, /*growth=*/running_count)) return;
    grants_[i].running = true;
    plan_.admitted.push_back(sequences_[i].id);
    for (int64_t group = 0; group < group_count(); ++group)
      free_page_counts_[group] -= sequences_[i].sole[group];
    const int64_t ready = sequences_[i].ready_count - sequences_[i].computed_count;
    GrantRows(i, std::min(ready, prefill_rows_left_));
    promise(i);
  }
}

void Scheduler::GrantDraft(int64_t index) {
  const SequenceSnapshot& sequence = sequences_[index];
  Grant& grant = grants_[index];
  const int64_t page_count = sequence.page_count + grant.new_page_count;
  const int64_t rows = std::min(
      {grant.row_count + sequence.draft_count, grant.row_count + rows_left_,
       (page_count + LeastFreePageCount()) * options_.page_size - sequence.computed_count});
  const int64_t new_page_count =
      std::max<int64_t>(0, PagesFor(sequence.computed_count + rows) - page_count);
  for (int64_t group = 0; group < group_count(); ++group)
    free_page_counts_[group] -= new_page_count;
  grant.new_page_count += new_page_count;
  rows_left_ -= rows - grant.row_count;
  grant.row_count = rows;
}

}  // namespace phyllo
