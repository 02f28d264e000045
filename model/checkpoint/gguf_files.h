// Which GGUF files a path names.
#ifndef PHYLLO_MODEL_CHECKPOINT_GGUF_FILES_H_
#define PHYLLO_MODEL_CHECKPOINT_GGUF_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// The paths of the GGUF files that are the model at `path`, in order: of a file, itself; of a part
// of a split model (NAME-00001-of-00003.gguf), all its parts; of a folder without config.json and
// safetensors files, the one GGUF model in it. Empty if `path` is another folder or nothing.
// Thread-safe. Errors: INVALID_ARGUMENT for a file that is not GGUF and for a folder with several
// GGUF models; NOT_FOUND naming a missing part.
absl::StatusOr<std::vector<std::string>> FindGgufFiles(absl::string_view path);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_GGUF_FILES_H_
