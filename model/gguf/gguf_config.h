// The metadata of a GGUF file as the config.json and generation_config.json that transformers would
// read the same model from.
#ifndef PHYLLO_MODEL_GGUF_GGUF_CONFIG_H_
#define PHYLLO_MODEL_GGUF_GGUF_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "model/checkpoint/checkpoint.h"

namespace phyllo {

// The text of a config.json in the key style of transformers 4, with one key more: "weight_names":
// "gguf" says that the tensors have GGUF's names and layouts. What the format leaves to its readers
// (activations, Gemma's score scale, which layers of SmolLM3 and Gemma rotate how) is as in
// transformers' config classes. REQUIRES: checkpoint.gguf() != nullptr. Errors, naming the key:
// INVALID_ARGUMENT (missing, of a wrong type, out of range), UNIMPLEMENTED (another architecture,
// another RoPE scaling, different sizes in different layers).
absl::StatusOr<std::string> GgufConfigJson(const Checkpoint& checkpoint);

// The text of a generation_config.json with the ids that end an answer: eos, eot and eom of the
// metadata, and control tokens that chat models end a turn with. Errors: as above.
absl::StatusOr<std::string> GgufGenerationConfigJson(const Checkpoint& checkpoint);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_GGUF_GGUF_CONFIG_H_
