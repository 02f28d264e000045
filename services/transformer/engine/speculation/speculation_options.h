// How an engine speculates.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_OPTIONS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_OPTIONS_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "services/transformer/engine/speculation/drafter.h"

namespace phyllo {

enum class SpeculationMode {
  kOff,
  kAuto,  // drafts what is expected to make the tokens of the batch come sooner
  kOn,    // drafts whatever it can, as long as the batch has room for rows
};

struct SpeculationOptions {
  SpeculationMode mode = SpeculationMode::kOff;  // of requests that do not say
  int64_t max_draft_tokens = 8;                  // of a sequence at once, in [1, kMaxDraftTokens]
  bool ngrams = true;                            // drafts from the sequence's own tokens
  Drafter* drafter = nullptr;  // borrowed, may be null; asked where the tokens give no draft
  // Seconds that a step of so many rows takes. Absent: a guess.
  std::function<double(int64_t rows)> step_cost = nullptr;
  // Measures the drafter. Absent: its drafts cost nothing.
  std::function<absl::Time()> now = nullptr;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_OPTIONS_H_
