// What an engine is made with: its bounds, its clock, and who is told of its steps.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENGINE_OPTIONS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENGINE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/base/memory_budget.h"
#include "services/transformer/engine/prefix/prefix_counts.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/sequence_outbox.h"
#include "services/transformer/engine/speculation/speculation_options.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// What happened in one step.
struct StepReport {
  absl::Duration duration = absl::ZeroDuration();
  StepShape shape = {};
  int64_t prefill_row_count = 0;
  int64_t decode_row_count = 0;    // of sampled tokens
  int64_t drafted_row_count = 0;   // of guesses behind them
  int64_t accepted_row_count = 0;  // of these, those that were right
  int64_t preempted_count = 0;
  PrefixCounts prefixes = {};
};

// Is told of every step and of every end. Called on the step thread, which it must not hold up.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void OnStep(const StepReport& report) = 0;
  virtual void OnFinished(const SequenceResult& result) = 0;
};

struct EngineOptions {
  int64_t max_prefill_rows = 128;  // most prompt rows of one step, in [1, max_rows of the model]
  // What steps cost at the start (MeasureStepCost); absent: prompts always get max_prefill_rows,
  // and drafts guess.
  std::optional<StepCostTable> step_cost = std::nullopt;
  // A step with prompt rows takes at most so many times as long as one without in which all
  // sequences decode, if the cost is known, >= 1; 16 prompt rows may always join.
  double max_step_stretch = 2.5;
  int64_t max_sequences = 64;              // in the batch, in [1, max_rows of the model]
  int64_t max_queue_sequences = 256;       // >= 0, new ones beyond are refused
  int64_t max_queue_tokens = 65536;        // of them together, >= 1
  int64_t max_unread_entries = 65536;      // of an outbox; three chunks of a scoring always fit
  MemoryBudget* request_memory = nullptr;  // of all requests and their unread news; borrowed; null:
                                           // without limit
  absl::Duration max_rows_wait = absl::Seconds(60);  // how long rows that were asked for may take
  std::optional<int64_t> max_sequence_length =
      std::nullopt;  // less than model and cache admit, >= 1
  // Floats of an encoding that keeps every token's vector, >= 1: 32 MiB, half of what a message
  // holds.
  int64_t max_encoding_elements = int64_t{1} << 23;
  std::vector<int32_t> eos_token_ids = {};    // end-of-sequence ids of the model
  std::function<absl::Time()> now = nullptr;  // monotonic; any origin
  bool prefix_cache = true;  // keep pages of past tokens for requests that begin with them
  SpeculationOptions speculation = {};
  EngineObserver* observer = nullptr;  // borrowed, may be null
};

// INVALID_ARGUMENT naming the option that is out of range, its value and the range.
absl::Status ValidateEngineOptions(const EngineOptions& options, const StepModelSizes& sizes);

// What the model, its cache and the options admit of a sequence. INVALID_ARGUMENT if the cache is
// too small for any.
absl::StatusOr<SequenceLimits> LimitsOf(const StepModel& model, const EngineOptions& options);

// The entries that the outbox of such a request may hold. A scoring goes on only as far as its
// reader sends rows, at most two chunks ahead: what they bring must fit, however many
// log-probabilities a token has.
int64_t UnreadEntriesFor(const SequenceRequest& request, const EngineOptions& options);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_ENGINE_OPTIONS_H_
