// Speculative decoding (Leviathan et al. 2023, arXiv 2211.17192), without their random acceptance:
// the sampler's draw at a position depends on the tokens before it, the seed and the position only,
// so a drafted token is right if and only if it is the one that is drawn.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/transformer/engine/engine_options.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/speculation/draft_account.h"
#include "services/transformer/engine/speculation/draft_lengths.h"
#include "services/transformer/engine/speculation/speculation_options.h"

namespace phyllo {

// Decides before every step which tokens are drafted. Thread-compatible: of the step thread.
class Speculation {
 public:
  // Borrows the limits and the cost of steps, which may change between calls; without a cost (null)
  // it is guessed. `max_rows` is that of a step; `now` measures the drafter.
  Speculation(SpeculationOptions options, const SequenceLimits& limits, const StepCost* cost,
              int64_t max_rows, std::function<absl::Time()> now);

  // Sets the draft of every sequence: of those that decode what is worth its rows, of others
  // nothing. A draft ends before what would end the sequence, so that all its tokens could be
  // accepted. The step will have at most `max_prompt_rows` rows of prompts.
  void Propose(absl::Span<const std::unique_ptr<Sequence>> sequences, int64_t max_prompt_rows);

  // What came of the last proposal: the step, its duration with the drafter's time in it.
  void Observe(const StepReport& step);

  // What the drafter took in the last Propose.
  absl::Duration drafter_time() const { return drafter_time_; }

  // The sequence has lost its pages or has ended.
  void Forget(SequenceId id) {
    if (options_.drafter != nullptr) options_.drafter->Forget(id);
  }

 private:
  SpeculationMode ModeOf(const Sequence& sequence) const;
  // The most tokens that may be drafted for a sequence that decodes.
  int64_t MaxDraft(const Sequence& sequence) const;
  void PredictFromNgrams(Sequence& sequence, int64_t max_count) const;
  // Whether tokens of the sequence may be drafted now.
  bool MayDraft(const Sequence& sequence) const;
  // Asks the drafter for those without prediction, or with one that is less likely to be right than
  // what it drafts, if that is worth its time.
  void PredictFromDrafter();
  // Calls the drafter for tasks_, and measures it.
  void RunDrafter();
  // Of the step with plain_ and, beyond its rows, those of drafts.
  double StepSeconds(int64_t rows) const;
  // Cuts predictions before a token that ends the sequence, or is none.
  void CutPrediction(Sequence& sequence) const;
  void AddChances(const Sequence& sequence, int64_t number);

  const SpeculationOptions options_;
  const SequenceLimits& limits_;
  const StepCost* const cost_;
  const int64_t max_rows_;
  const std::function<absl::Time()> now_;

  double seconds_per_round_ = 0.0;  // of the drafter: an exponentially weighted mean; 0: not known
  DraftAccount account_;            // of the drafts that nobody asked for

  // Of the last Propose.
  absl::Duration drafter_time_ = absl::ZeroDuration();
  bool asked_for_ = false;  // some sequences want drafts whatever they cost

  // Scratch of one Propose.
  StepShape plain_;                  // of the step without drafts
  std::vector<Sequence*> decoding_;  // those that may be drafted for
  std::vector<DraftTask> tasks_;
  std::vector<Sequence*> asking_;  // [tasks_]
  std::vector<DraftRun> runs_;     // [tasks_]
  std::vector<DraftChance> chances_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_H_
