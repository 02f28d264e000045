// The component "post_processor" of tokenizer.json: the tokens put before and after a text.
#ifndef PHYLLO_MODEL_TOKENIZER_COMPONENTS_POST_PROCESSOR_H_
#define PHYLLO_MODEL_TOKENIZER_COMPONENTS_POST_PROCESSOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

struct PostProcessor {
  std::vector<int32_t> prefix;  // [p] ids.
  std::vector<int32_t> suffix;  // [s] ids.
};

// Reads `component`; nothing is added for JSON null. Known types: Sequence, TemplateProcessing (of
// a single text), ByteLevel (which only narrows offsets in tokenizers; ours are never narrowed),
// BertProcessing, RobertaProcessing. Errors: INVALID_ARGUMENT (malformed), UNIMPLEMENTED (another
// type, by name).
absl::StatusOr<PostProcessor> MakePostProcessor(const nlohmann::json& component);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_COMPONENTS_POST_PROCESSOR_H_
