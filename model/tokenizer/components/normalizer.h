// The component "normalizer" of tokenizer.json.
#ifndef PHYLLO_MODEL_TOKENIZER_COMPONENTS_NORMALIZER_H_
#define PHYLLO_MODEL_TOKENIZER_COMPONENTS_NORMALIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model/tokenizer/text/aligned_text.h"
#include "model/tokenizer/text/regex.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// Immutable, thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // The normalized form of `text`. Errors: RESOURCE_EXHAUSTED (see Regex::FindAll).
  virtual absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch* scratch) const = 0;
};

// Makes the normalizer that `component` describes; null for JSON null. Known types: Sequence, NFC,
// NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, StripAccents. Errors: INVALID_ARGUMENT
// (malformed), UNIMPLEMENTED (another type, by name).
absl::StatusOr<std::unique_ptr<Normalizer>> MakeNormalizer(const nlohmann::json& component);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_COMPONENTS_NORMALIZER_H_
