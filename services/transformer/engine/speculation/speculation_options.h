// How an engine speculates.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_OPTIONS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_OPTIONS_H_

#include <cstdint>

#include "services/transformer/engine/speculation/drafter.h"

namespace phyllo {

enum class SpeculationMode {
  kOff,
  kAuto,  // drafts what is expected to make the tokens of the batch come sooner, as long as it does
  kOn,    // drafts whatever it can, as long as the batch has room for rows
};

struct SpeculationOptions {
  SpeculationMode mode = SpeculationMode::kOff;  // of requests that do not say
  int64_t max_draft_tokens = 8;                  // of a sequence at once, in [1, kMaxDraftTokens]
  bool ngrams = true;                            // drafts from the sequence's own tokens
  Drafter* drafter = nullptr;  // borrowed, may be null; asked where the tokens give no draft
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_SPECULATION_OPTIONS_H_
