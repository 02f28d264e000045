// Continuous batching: sequences come and go between the steps of one model.
//   PHYLLO_ASSIGN_OR_RETURN(const auto engine, Engine::Create(model, options));
//   std::thread steps([&] { engine->Run(); });
//   PHYLLO_ASSIGN_OR_RETURN(const SequenceId id, engine->Submit(request, outbox));  // then answer
//   the outbox's needs engine->ProvideHiddenStates(id, need.first_position, rows);
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENGINE_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "services/transformer/engine/admission/waiting_bounds.h"
#include "services/transformer/engine/engine_options.h"
#include "services/transformer/engine/prefix/prefix_reuse.h"
#include "services/transformer/engine/sampling/row_sampling.h"
#include "services/transformer/engine/scheduling/page_pools.h"
#include "services/transformer/engine/scheduling/prefill_budget.h"
#include "services/transformer/engine/scheduling/scheduler.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/sequence_outbox.h"
#include "services/transformer/engine/speculation/speculation.h"
#include "services/transformer/engine/step_batch.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// The load, as of the end of the last step or later.
struct EngineStats {
  int64_t running_count = 0;
  int64_t waiting_count = 0;  // preempted ones included
  int64_t outstanding_prefill_tokens = 0;
  int64_t prefill_row_budget = 0;  // prompt rows that the last step might have had
  PageUsage pages;
  int64_t cached_page_count = 0;   // remembered by the prefix cache, used or free
  int64_t evicted_page_count = 0;  // were remembered until they got another use
  int64_t step_count = 0;
  int64_t preemption_count = 0;
  int64_t not_finite_count = 0;  // sequences ended because of logits that are not finite
  std::optional<absl::Time>
      step_started_time;  // set while a step computes: if long ago, the engine is stuck
  bool draining = false;
};

// Owns the sequences, and the batch they share. One thread, the step thread, calls Run (or
// RunOneStep, in tests) and alone touches sequences; all other methods only put something into its
// inbox. Thread-safe except for Run and RunOneStep.
class Engine {
 public:
  // Borrows the model. INVALID_ARGUMENT names the option that is out of range.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(StepModel& model, EngineOptions options);

  // Takes a sequence; its news goes to an outbox made with `on_news` (see SequenceOutbox), which
  // ends with the result. INVALID_ARGUMENT for a wrong request; RESOURCE_EXHAUSTED, naming the
  // limit, when the queue is full; UNAVAILABLE while draining; DEADLINE_EXCEEDED when the deadline
  // has passed.
  struct Submitted {
    SequenceId id = 0;
    std::shared_ptr<SequenceOutbox> outbox;  // shared with the engine
  };
  absl::StatusOr<Submitted> Submit(SequenceRequest request, NewsCallback on_news)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Answers a need with rows [n, d]. Rows that were not asked for end the sequence with
  // INVALID_ARGUMENT.
  void ProvideHiddenStates(SequenceId id, int64_t first_position, std::vector<float> rows)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the sequence with CANCELLED before the next step; nothing if it has ended.
  void Cancel(SequenceId id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses new sequences from now on.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends Run before its next step.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  EngineStats stats() const ABSL_LOCKS_EXCLUDED(mutex_);
  const SequenceLimits& limits() const { return limits_; }
  absl::Time now() const { return options_.now(); }

  // Takes in what is new, ends what must end, computes one step. False if nothing changed: then
  // nothing will until there is new input or a deadline passes.
  bool RunOneStep() ABSL_LOCKS_EXCLUDED(mutex_);
  // Steps until Stop, sleeping when there is nothing to do; then ends all sequences with
  // UNAVAILABLE.
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct ProvidedRows {
    SequenceId id;
    int64_t first_position;
    std::vector<float> rows;
  };
  struct Inbox {
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<ProvidedRows> rows;
    std::vector<SequenceId> cancelled;
    bool empty() const { return sequences.empty() && rows.empty() && cancelled.empty(); }
  };

  Engine(StepModel& model, EngineOptions options, SequenceLimits limits,
         std::optional<StepCost> cost);

  const StepCost* step_cost() const { return step_cost_ ? &*step_cost_ : nullptr; }

  bool TakeInbox() ABSL_LOCKS_EXCLUDED(mutex_);
  void Enqueue(std::unique_ptr<Sequence> sequence);
  void EndExpired(absl::Time now);
  const StepPlan& Plan();
  void AskForRows(absl::Time now);
  bool Compute(const StepPlan& plan, absl::Time start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Learns from a step, and tells the observer.
  void Report(const StepReport& report);
  void AfterStep(size_t index, const absl::Status& step_status, absl::Time now);
  void Finish(Sequence& sequence, FinishReason reason);
  void Fail(Sequence& sequence, absl::Status status);
  void End(Sequence& sequence, SequenceResult result);
  bool RemoveFinished();
  void Publish(std::optional<absl::Time> step_started_time) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Time NextExpiry() const;
  bool HasInput() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || !inbox_.empty(); }

  StepModel& model_;
  const EngineOptions options_;
  const SequenceLimits limits_;

  // Of sequences that were submitted and never yet in the batch. Outlives them.
  WaitingBounds waiting_bounds_;

  // Of the step thread.
  std::optional<StepCost> step_cost_;  // corrected by every step; outlives those who ask it
  PrefillBudget prefill_budget_;
  Scheduler scheduler_;
  StepBatch batch_;
  PrefixReuse prefixes_;  // outlives sequences_
  Speculation speculation_;
  RowSampling sampling_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // in order of service
  absl::flat_hash_map<SequenceId, Sequence*> by_id_;
  std::vector<SequenceSnapshot> snapshots_;
  std::vector<Sequence*> in_batch_;
  EngineStats totals_;

  mutable absl::Mutex mutex_;
  Inbox inbox_ ABSL_GUARDED_BY(mutex_);
  SequenceId next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  EngineStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENGINE_H_
