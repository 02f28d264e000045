// The pooling that an embedding model's folder asks for, in the files of sentence-transformers.
#ifndef PHYLLO_MODEL_HEADS_POOLING_CONFIG_H_
#define PHYLLO_MODEL_HEADS_POOLING_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/heads/pooling.h"

namespace phyllo {

// Reads the text of a 1_Pooling/config.json: the one pooling_mode_* that is true. Errors:
// INVALID_ARGUMENT if it is not JSON or names no pooling, UNIMPLEMENTED, naming the key, for a
// pooling other than lasttoken, mean_tokens and cls_token and for more than one.
absl::StatusOr<Pooling> ParsePoolingConfig(absl::string_view json);

// The pooling of a model folder: what FOLDER/1_Pooling/config.json says, kLast if there is none,
// which is how decoders are used. Errors of ParsePoolingConfig and of reading.
absl::StatusOr<Pooling> ReadFolderPooling(const std::string& model_folder);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_HEADS_POOLING_CONFIG_H_
