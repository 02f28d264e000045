// A checkpoint of random weights for a given config.json: to measure a shape whose trained weights
// are not at hand.
#ifndef PHYLLO_TOOLS_MAKE_RANDOM_CHECKPOINT_RANDOM_CHECKPOINT_H_
#define PHYLLO_TOOLS_MAKE_RANDOM_CHECKPOINT_RANDOM_CHECKPOINT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "model/tensor/dtype.h"

namespace phyllo {

struct RandomCheckpointOptions {
  std::string config_path;       // a config.json of a supported family
  std::string output_directory;  // made if it is missing; its parent must exist
  std::string tokenizer_path;    // a tokenizer.json to copy; empty = none
  DType dtype = DType::kBf16;    // kF32, kF16 or kBf16
  uint64_t seed = 1;
  // A checkpoint of more bytes is split, a tensor never is.
  int64_t max_shard_bytes = 5'000'000'000;
};

struct RandomCheckpointResult {
  int64_t parameter_count = 0;
  int64_t weight_bytes = 0;
  int64_t shard_count = 0;
};

// Writes config.json (its dtype set), model.safetensors or shards with their index, and copies the
// tokenizer. Matrices are normal with standard deviation 0.02, norm weights 1, biases 0; the same
// options give the same bytes. Memory: a few MB, whatever the model's size. Errors: those of
// ParseModelConfig; INVALID_ARGUMENT for a bad option; ALREADY_EXISTS if the folder holds a
// checkpoint; UNKNOWN for failed writes, naming the file.
absl::StatusOr<RandomCheckpointResult> WriteRandomCheckpoint(
    const RandomCheckpointOptions& options);

}  // namespace phyllo

#endif  // PHYLLO_TOOLS_MAKE_RANDOM_CHECKPOINT_RANDOM_CHECKPOINT_H_
