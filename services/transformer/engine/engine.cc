// Invariants:
// - sequences_ is in order of service: higher priority first, then earlier arrival. A preempted
// sequence keeps its place.
// - Every sequence ends through Finish, once; it stays in sequences_ until RemoveFinished at the
// end of the step, without pages.
// - The mutex guards the hand-over only; it is never held while the model computes or an outbox
// calls its reader.
#include "services/transformer/engine/engine.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "services/transformer/engine/admission/request_bytes.h"
#include "services/transformer/engine/encoding/sequence_encoding.h"

namespace phyllo {
absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(StepModel& model, EngineOptions options) {
  PHYLLO_RETURN_IF_ERROR(ValidateEngineOptions(options, model.sizes()));
  PHYLLO_ASSIGN_OR_RETURN(SequenceLimits limits, LimitsOf(model, options));
  std::optional<StepCost> cost;
  if (options.step_cost) {
    PHYLLO_ASSIGN_OR_RETURN(cost, StepCost::Create(*options.step_cost));
  }
  return std::unique_ptr<Engine>(
      new Engine(model, std::move(options), std::move(limits), std::move(cost)));
}

Engine::Engine(StepModel& model, EngineOptions options, SequenceLimits limits,
               std::optional<StepCost> cost)
    : model_(model),
      options_(std::move(options)),
      limits_(std::move(limits)),
      waiting_bounds_(options_.max_queue_sequences, options_.max_queue_tokens),
      step_cost_(std::move(cost)),
      prefill_budget_(step_cost(), {.max_step_stretch = options_.max_step_stretch,
                                    .max_sequences = options_.max_sequences,
                                    .max_rows = options_.max_prefill_rows}),
      scheduler_({.max_rows = model.sizes().max_rows,
                  .max_prefill_rows = options_.max_prefill_rows,
                  .max_sequences = options_.max_sequences,
                  .page_size = model.sizes().page_size,
                  .groups = SchedulerGroupsOf(model)}),
      batch_(model),
      prefixes_(model, options_.prefix_cache),
      speculation_(options_.speculation, limits_, step_cost(), model.sizes().max_rows,
                   options_.now),
      sampling_(model.num_threads(), model.sizes().vocab_size) {
  totals_.pages = UsageOf(model);
  stats_ = totals_;
}

absl::StatusOr<Engine::Submitted> Engine::Submit(SequenceRequest request, NewsCallback on_news) {
  PHYLLO_RETURN_IF_ERROR(CheckHead(request, model_.sizes(), options_.max_encoding_elements));
  PHYLLO_RETURN_IF_ERROR(ValidateSequenceRequest(request, limits_));
  if (request.encoding) request.encoding = ResolveEncoding(*request.encoding, model_.sizes());
  const absl::Time now = options_.now();
  if (request.deadline && *request.deadline <= now)
    return absl::DeadlineExceededError("the deadline had passed when the request arrived");
  const auto prompt_count = static_cast<int64_t>(request.prompt_token_ids.size());
  const int64_t token_count =
      prompt_count + static_cast<int64_t>(request.generated_token_ids.size());
  PHYLLO_ASSIGN_OR_RETURN(WaitingPermit permit, waiting_bounds_.Enter(token_count));
  MemoryReservation memory = options_.request_memory != nullptr
                                 ? MemoryReservation(*options_.request_memory)
                                 : MemoryReservation();
  PHYLLO_RETURN_IF_ERROR(memory.Grow(RequestBytes(request, model_.sizes().hidden_size)));
  auto outbox = std::make_shared<SequenceOutbox>(UnreadEntriesFor(request, options_),
                                                 std::move(on_news), std::move(memory));
  SequenceStorage storage = {
      PromptFeed(prompt_count, model_.sizes().hidden_size, options_.max_prefill_rows),
      SequencePages(model_.page_groups(), model_.sizes().page_size)};

  absl::MutexLock lock(&mutex_);
  if (draining_ || stop_) return absl::UnavailableError("the server is draining");
  const SequenceId id = next_id_++;
  auto sequence =
      std::make_unique<Sequence>(id, std::move(request), outbox, limits_, std::move(storage));
  sequence->submit_time = now;
  sequence->waiting_permit = std::move(permit);
  inbox_.sequences.push_back(std::move(sequence));
  return Submitted{id, std::move(outbox)};
}

void Engine::ProvideHiddenStates(SequenceId id, int64_t first_position, std::vector<float> rows) {
  absl::MutexLock lock(&mutex_);
  inbox_.rows.push_back({id, first_position, std::move(rows)});
}

void Engine::Cancel(SequenceId id) {
  absl::MutexLock lock(&mutex_);
  inbox_.cancelled.push_back(id);
}

void Engine::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
}

void Engine::Stop() {
  absl::MutexLock lock(&mutex_);
  stop_ = true;
}

EngineStats Engine::stats() const {
  absl::MutexLock lock(&mutex_);
  EngineStats stats = stats_;
  stats.draining = draining_;
  for (const auto& sequence : inbox_.sequences) {
    ++stats.waiting_count;
    stats.outstanding_prefill_tokens += sequence->prompt_count();
  }
  return stats;
}

bool Engine::RunOneStep() {
  const absl::Time start = options_.now();
  const bool has_input = TakeInbox();
  EndExpired(start);
  const StepPlan& plan = Plan();
  AskForRows(start);
  const bool computed = Compute(plan, start);
  AskForRows(options_.now());
  for (const auto& sequence : sequences_) sequence->outbox->Flush();
  const bool removed = RemoveFinished();
  Publish(std::nullopt);
  return has_input || computed || removed || !plan.admitted.empty() || !plan.preempted.empty();
}

void Engine::Run() {
  while (true) {
    const bool changed = RunOneStep();
    const absl::Duration until_expiry =
        changed ? absl::ZeroDuration() : NextExpiry() - options_.now();
    absl::MutexLock lock(&mutex_);
    if (!changed) mutex_.AwaitWithTimeout(absl::Condition(this, &Engine::HasInput), until_expiry);
    if (stop_) break;
  }
  TakeInbox();
  for (const auto& sequence : sequences_) {
    if (!sequence->finished) Fail(*sequence, absl::UnavailableError("the server is shutting down"));
    sequence->outbox->Flush();
  }
  RemoveFinished();
  Publish(std::nullopt);
}

bool Engine::TakeInbox() {
  Inbox inbox;
  {
    absl::MutexLock lock(&mutex_);
    inbox = std::exchange(inbox_, Inbox{});
  }
  for (auto& sequence : inbox.sequences) Enqueue(std::move(sequence));
  for (ProvidedRows& provided : inbox.rows) {
    const auto found = by_id_.find(provided.id);
    if (found == by_id_.end() || found->second->finished) continue;
    Sequence& sequence = *found->second;
    const absl::Status status =
        sequence.feed.Accept(provided.first_position, std::move(provided.rows));
    if (!status.ok()) Fail(sequence, status);
    sequence.rows_asked_time.reset();
  }
  for (const SequenceId id : inbox.cancelled) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end() || found->second->finished) continue;
    Fail(*found->second, absl::CancelledError("the client cancelled"));
  }
  return !inbox.empty();
}

void Engine::Enqueue(std::unique_ptr<Sequence> sequence) {
  Sequence& enqueued = *sequence;
  by_id_[enqueued.id] = &enqueued;
  const auto place = std::upper_bound(
      sequences_.begin(), sequences_.end(), sequence,
      [](const auto& a, const auto& b) { return a->request.priority > b->request.priority; });
  sequences_.insert(place, std::move(sequence));
  if (const std::optional<FinishReason> reason = enqueued.Finished()) Finish(enqueued, *reason);
}

void Engine::EndExpired(absl::Time now) {
  for (const auto& sequence : sequences_) {
    if (sequence->finished) continue;
    if (sequence->request.deadline && now >= *sequence->request.deadline) {
      Fail(*sequence, absl::DeadlineExceededError("the deadline passed"));
    } else if (sequence->request.time_limit &&
               now >= sequence->submit_time + *sequence->request.time_limit) {
      Finish(*sequence, FinishReason::kTimeLimit);
    } else if (sequence->rows_asked_time &&
               now >= *sequence->rows_asked_time + options_.max_rows_wait) {
      Fail(*sequence, absl::DeadlineExceededError(
                          absl::StrCat("hidden states that were asked for did not arrive within ",
                                       absl::FormatDuration(options_.max_rows_wait))));
    }
  }
}

absl::Time Engine::NextExpiry() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& sequence : sequences_) {
    if (sequence->request.deadline) next = std::min(next, *sequence->request.deadline);
    if (sequence->request.time_limit)
      next = std::min(next, sequence->submit_time + *sequence->request.time_limit);
    if (sequence->rows_asked_time)
      next = std::min(next, *sequence->rows_asked_time + options_.max_rows_wait);
  }
  return next;
}

const StepPlan& Engine::Plan() {
  prefixes_.MatchFirst(sequences_);
  speculation_.Propose(sequences_, /*max_prompt_rows=*/totals_.prefill_row_budget);
  snapshots_.clear();
  for (const auto& sequence : sequences_) {
    if (!sequence->finished) snapshots_.push_back(sequence->Snapshot());
  }
  const PageCounts free_counts = FreePageCounts(model_);
  if (scheduler_.MayPreempt(static_cast<int64_t>(snapshots_.size()), free_counts)) {
    for (SequenceSnapshot& snapshot : snapshots_)
      if (snapshot.running) snapshot.sole = by_id_.at(snapshot.id)->SolePageCounts();
  }
  totals_.prefill_row_budget = prefill_budget_.RowsFor(snapshots_);
  const StepPlan& plan = scheduler_.PlanStep(snapshots_, free_counts, totals_.prefill_row_budget);
  for (const SequenceId id : plan.preempted) {
    prefixes_.Preempt(*by_id_.at(id));
    speculation_.Forget(id);
  }
  totals_.preemption_count += static_cast<int64_t>(plan.preempted.size());
  for (const SequenceId id : plan.admitted) {
    Sequence& sequence = *by_id_.at(id);
    sequence.running = true;
    sequence.as_planned = prefixes_.Admit(sequence);
    sequence.waiting_permit.GiveBack();
  }
  return plan;
}

void Engine::AskForRows(absl::Time now) {
  bool next_in_line = true;  // the first that waits gets its rows ready
  for (const auto& sequence : sequences_) {
    if (sequence->finished || (!sequence->running && !std::exchange(next_in_line, false))) continue;
    while (const std::optional<RowRange> need = sequence->feed.NextNeed())
      sequence->outbox->AddNeed(*need);
    if (!sequence->feed.waiting_for_rows()) {
      sequence->rows_asked_time.reset();
    } else if (!sequence->rows_asked_time) {
      sequence->rows_asked_time = now;
    }
    sequence->outbox->Flush();
  }
}

bool Engine::Compute(const StepPlan& plan, absl::Time start) {
  batch_.Clear();
  in_batch_.clear();
  StepReport report{.preempted_count = static_cast<int64_t>(plan.preempted.size())};
  for (const PlannedSlice& slice : plan.slices) {
    Sequence& sequence = *by_id_.at(slice.id);
    if (!std::exchange(sequence.as_planned, true)) continue;
    const bool decode = sequence.tokens_to_compute() - sequence.computed_count == 1;
    if (const absl::Status status = batch_.Add(sequence, slice.row_count); !status.ok()) {
      Fail(sequence, absl::InternalError(absl::StrCat("step: ", status.message())));
      continue;
    }
    if (!sequence.first_step_time) {
      sequence.first_step_time = start;
      prefixes_.CountStart(sequence);
    }
    const auto draft_count = static_cast<int64_t>(sequence.draft.tokens.size());
    report.drafted_row_count += draft_count;
    (decode ? report.decode_row_count : report.prefill_row_count) += slice.row_count - draft_count;
    (decode ? report.shape.decode_key_count : report.shape.prompt_key_count) +=
        KeysRead(sequence.computed_count, slice.row_count);
    in_batch_.push_back(&sequence);
  }
  if (in_batch_.empty()) return false;
  Publish(start);
  absl::Status status = batch_.Forward();
  if (status.ok()) {
    status = batch_.VisitLogits([this](const StepBatch::LogitsRow& row,
                                       const StepBatch::RowLogits& logits,
                                       int worker) { sampling_.Take(row, logits, worker); });
  }
  for (size_t i = 0; status.ok() && i < in_batch_.size(); ++i)
    status = EncodeRows(model_, batch_.SliceRows(i), *in_batch_[i]);
  const absl::Time end = options_.now();
  for (size_t i = 0; i < in_batch_.size(); ++i) {
    AfterStep(i, status, end);
    report.accepted_row_count += in_batch_[i]->draft.accepted_count;
  }
  report.shape.row_count = batch_.row_count();
  report.shape.logits_row_count = batch_.logits_row_count();
  report.prefixes = prefixes_.TakeCounts();
  report.duration = end - start;
  Report(report);
  return true;
}

void Engine::Report(const StepReport& report) {
  ++totals_.step_count;
  if (step_cost_) step_cost_->Observe(report.shape, report.duration - speculation_.drafter_time());
  speculation_.Observe(report);
  if (options_.observer != nullptr) options_.observer->OnStep(report);
}

void Engine::AfterStep(size_t index, const absl::Status& step_status, absl::Time now) {
  Sequence& sequence = *in_batch_[index];
  if (!step_status.ok()) {
    Fail(sequence, absl::InternalError(absl::StrCat("step: ", step_status.message())));
    return;
  }
  const int64_t rejected_count = sequence.draft.CountVerified();
  sequence.computed_count += batch_.slices()[index].row_count - rejected_count;
  prefixes_.Store(sequence, batch_.IsFinite(index, rejected_count));
  // A page that only a rejected row has touched goes back: what others find free does not depend on
  // guesses. To get shorter cannot fail.
  if (rejected_count > 0) sequence.pages.Resize(sequence.computed_count).IgnoreError();
  sequence.pages.ReleaseBefore(sequence.computed_count);
  if (std::exchange(sequence.sampled, false)) {
    sequence.last_token_time = now;
    if (!sequence.first_token_time) {
      sequence.first_token_time = now;
      sequence.outbox->SetPrefilled(sequence.MakeResult());
    }
  }
  if (!sequence.step_status.ok()) {
    if (absl::IsInternal(sequence.step_status)) ++totals_.not_finite_count;
    Fail(sequence, sequence.step_status);
  } else if (const std::optional<FinishReason> reason = sequence.Finished()) {
    Finish(sequence, *reason);
  } else if (sequence.MustRecompute()) {
    prefixes_.Recompute(sequence);
  } else if (sequence.computed_count < sequence.prompt_count()) {
    sequence.outbox->SetPrefillProgress({sequence.computed_count, sequence.prompt_count()});
  }
}

void Engine::Finish(Sequence& sequence, FinishReason reason) {
  SequenceResult result = sequence.MakeResult();
  result.finish_reason = reason;
  result.encoding = std::move(sequence.encoding);
  End(sequence, std::move(result));
}

void Engine::Fail(Sequence& sequence, absl::Status status) {
  SequenceResult result = sequence.MakeResult();
  result.status = std::move(status);
  End(sequence, std::move(result));
}

void Engine::End(Sequence& sequence, SequenceResult result) {
  sequence.finished = true;
  prefixes_.Release(sequence, /*discard=*/absl::IsInternal(result.status));
  speculation_.Forget(sequence.id);
  sequence.pages.Clear();
  sequence.waiting_permit.GiveBack();
  if (options_.observer != nullptr) options_.observer->OnFinished(result);
  sequence.outbox->Finish(std::move(result));
}

bool Engine::RemoveFinished() {
  return std::erase_if(sequences_, [this](const std::unique_ptr<Sequence>& sequence) {
           if (sequence->finished) by_id_.erase(sequence->id);
           return sequence->finished;
         }) > 0;
}

void Engine::Publish(std::optional<absl::Time> step_started_time) {
  totals_.running_count = totals_.waiting_count = totals_.outstanding_prefill_tokens = 0;
  for (const auto& sequence : sequences_) {
    if (sequence->finished) continue;
    ++(sequence->running ? totals_.running_count : totals_.waiting_count);
    const int64_t missing = sequence->tokens_to_compute() - sequence->computed_count;
    if (missing > 1) totals_.outstanding_prefill_tokens += missing;
  }
  totals_.pages = UsageOf(model_);
  totals_.cached_page_count = prefixes_.cached_page_count();
  totals_.evicted_page_count = prefixes_.evicted_page_count();
  totals_.step_started_time = step_started_time;
  absl::MutexLock lock(&mutex_);
  stats_ = totals_;
}

}  // namespace phyllo
