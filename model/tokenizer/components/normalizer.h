// The component "normalizer" of tokenizer.json.
#ifndef PHYLLO_MODEL_TOKENIZER_COMPONENTS_NORMALIZER_H_
#define PHYLLO_MODEL_TOKENIZER_COMPONENTS_NORMALIZER_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/text/aligned_text.h"
#include "model/tokenizer/text/regex.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// Immutable, thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // The normalized form of `text`. Errors: RESOURCE_EXHAUSTED (see Regex::FindAll and
  // CheckNormalizedSize).
  virtual absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch* scratch) const = 0;
};

// OK if a text of `original_size` bytes may become one of `size` bytes: a hostile file could make
// it grow without end. No known normalizer makes a text more than 11 times as long (NFKD of
// U+FDFA). Errors: RESOURCE_EXHAUSTED (more than 64 times as long).
absl::Status CheckNormalizedSize(size_t size, size_t original_size);

// Makes the normalizer that `component` describes; null for JSON null. Known types: Sequence, NFC,
// NFD, NFKC, NFKD, Lowercase, Precompiled, Prepend, Replace, Strip, StripAccents. Errors:
// INVALID_ARGUMENT (malformed), UNIMPLEMENTED (another type, by name).
absl::StatusOr<std::unique_ptr<Normalizer>> MakeNormalizer(const nlohmann::json& component);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_COMPONENTS_NORMALIZER_H_
