// Speculative decoding (Leviathan et al. 2023, arXiv 2211.17192), without their random acceptance:
// the sampler's draw at a position depends on the tokens before it, the seed and the position only,
// so a drafted token is right if and only if it is the one that is drawn.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/speculation/draft_lengths.h"
#include "services/transformer/engine/speculation/speculation_options.h"

namespace phyllo {

// Decides before every step which tokens are drafted. Thread-compatible: of the step thread.
class Speculation {
 public:
  // `max_rows` and `max_prefill_rows` are those of a step.
  Speculation(SpeculationOptions options, const SequenceLimits& limits, int64_t max_rows,
              int64_t max_prefill_rows);

  // Sets the draft of every sequence: of those that decode what is worth its rows, of others
  // nothing. A draft ends before what would end the sequence, so that all its tokens could be
  // accepted.
  void Propose(absl::Span<const std::unique_ptr<Sequence>> sequences);

  // The sequence has lost its pages or has ended.
  void Forget(SequenceId id) {
    if (options_.drafter != nullptr) options_.drafter->Forget(id);
  }

 private:
  SpeculationMode ModeOf(const Sequence& sequence) const;
  // The most tokens that may be drafted for a sequence that decodes.
  int64_t MaxDraft(const Sequence& sequence) const;
  void PredictFromNgrams(Sequence& sequence, int64_t max_count) const;
  // Asks the drafter for those without prediction, or with one that is less likely to be right than
  // what it drafts, if that is worth its time.
  void PredictFromDrafter(int64_t row_count);
  // Calls the drafter for tasks_, and measures it.
  void RunDrafter();
  double StepSeconds(int64_t rows) const;
  // Cuts predictions before a token that ends the sequence, or is none.
  void CutPrediction(Sequence& sequence) const;
  void AddChances(const Sequence& sequence, int64_t number);

  const SpeculationOptions options_;
  const SequenceLimits& limits_;
  const int64_t max_rows_;
  const int64_t max_prefill_rows_;

  double seconds_per_round_ = 0.0;  // of the drafter: an exponentially weighted mean

  // Scratch of one Propose.
  std::vector<Sequence*> decoding_;  // those that may be drafted for
  std::vector<DraftTask> tasks_;
  std::vector<Sequence*> asking_;  // [tasks_]
  std::vector<DraftRun> runs_;     // [tasks_]
  std::vector<DraftChance> chances_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_H_
