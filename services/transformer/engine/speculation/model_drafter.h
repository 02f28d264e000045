// Drafts by a second, smaller model with the same tokens.
//   PHYLLO_ASSIGN_OR_RETURN(const auto drafter, ModelDrafter::Create(draft_model, {}));
//   drafter->Draft(tasks);
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_MODEL_DRAFTER_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_MODEL_DRAFTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/kv_cache/sequence_pages.h"
#include "services/transformer/engine/speculation/drafter.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

struct ModelDrafterOptions {
  // A guess less likely than this ends the draft: what follows it would be in vain too often.
  double least_probability = 0.3;
};

// Keeps the keys and values of every sequence it drafts for in the draft model's own pages, and
// brings them up to the sequence's tokens first: at most max_rows of the model at a time for all
// sequences together, so that a long prompt is caught up with over several calls, and drafted for
// after the last. Then it takes the likeliest token again and again, for all sequences in one
// batch. A sequence for which there are no pages, or whose tokens are not all known, gets no draft.
// Thread-compatible: of the step thread.
class ModelDrafter final : public Drafter {
 public:
  // Borrows the model, of which nobody else may use the pages. FAILED_PRECONDITION if it has no LM
  // head.
  static absl::StatusOr<std::unique_ptr<ModelDrafter>> Create(StepModel& model,
                                                              const ModelDrafterOptions& options);

  DraftWork Draft(absl::Span<const DraftTask> tasks) override;
  void Forget(SequenceId id) override { states_.erase(id); }

  // Of all sequences it keeps anything of.
  int64_t sequence_count() const { return static_cast<int64_t>(states_.size()); }

 private:
  // What is kept of a sequence.
  struct State {
    SequencePages pages;
    int64_t prompt_length = 0;     // StepSlice::prompt_length: tokens at the first call
    int64_t confirmed_count = 0;   // of its tokens: their keys and values are in the pages
    std::vector<int32_t> guessed;  // tokens behind these whose keys and values are there too
  };
  // A sequence in the batch of a round.
  struct Row {
    const DraftTask* task;
    State* state;
    int64_t row_count;  // in this round
    bool drafts;        // its last row gives a token
  };

  ModelDrafter(StepModel& model, const ModelDrafterOptions& options);

  State* FindOrMake(const DraftTask& task);
  // Sorts out which guesses have become tokens.
  static void Confirm(const DraftTask& task, State& state);
  // The first round: rows of tokens that are not computed yet.
  void GatherTokens(absl::Span<const DraftTask> tasks);
  // A further round: the row of the token that was guessed last, of those that go on.
  void GatherGuesses();
  // Computes the rows that were gathered and appends the next guess to every task that drafts.
  absl::Status Step();
  absl::Status AddSlices();
  absl::Status TakeGuesses();

  StepModel& model_;
  const ModelDrafterOptions options_;
  std::vector<float> hidden_states_;  // [max_rows, d]
  std::vector<float> logits_;         // [max_logits_rows, v]
  absl::flat_hash_map<SequenceId, State> states_;

  // Scratch of one Draft.
  std::vector<Row> batch_;
  std::vector<StepSlice> slices_;
  std::vector<int64_t> rows_;      // of the batch: whose logits are wanted
  std::vector<size_t> row_owner_;  // [rows_] index in batch_
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_MODEL_DRAFTER_H_
