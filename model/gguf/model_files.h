// The small files of a model, wherever they are.
#ifndef PHYLLO_MODEL_GGUF_MODEL_FILES_H_
#define PHYLLO_MODEL_GGUF_MODEL_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// The contents of the file that is called `name` in a Hugging Face folder ("config.json",
// "generation_config.json", "tokenizer.json", "tokenizer_config.json", ...), of the model at
// `path`: a folder, or a GGUF model as FindGgufFiles (model/checkpoint/gguf_files.h) says, whose
// metadata are then translated. Thread-safe. Errors: NOT_FOUND, without the path, if there is
// no such model or it has no such file; DATA_LOSS if it cannot be read; of a GGUF file those of
// Checkpoint::Open and the translations.
absl::StatusOr<std::string> ReadModelFile(const std::string& path, absl::string_view name);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_GGUF_MODEL_FILES_H_
