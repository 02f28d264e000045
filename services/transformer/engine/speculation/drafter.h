// Who guesses the next tokens of sequences.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFTER_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFTER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "services/transformer/engine/scheduling/scheduler.h"

namespace phyllo {

// A sequence that wants a draft.
struct DraftTask {
  SequenceId id = 0;
  absl::Span<const int32_t> token_ids;     // prompt, then output, [n]; may hold kNoTokenId
  int64_t max_count = 0;                   // >= 1
  std::vector<int32_t>* tokens = nullptr;  // filled with at most max_count guesses; not null
};

// What a call took.
struct DraftWork {
  int64_t token_row_count = 0;  // of tokens of the tasks that it had not seen before
  int64_t round_count = 0;      // each made a guess for all tasks that wanted one more
};

// Guesses may be wrong, for whatever reason: they cost rows, never change a token.
// Thread-compatible: of the step thread.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // Drafts for all tasks at once.
  virtual DraftWork Draft(absl::Span<const DraftTask> tasks) = 0;
  // The sequence has lost its pages or has ended: gives back what is kept of it.
  virtual void Forget(SequenceId id) = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFTER_H_
