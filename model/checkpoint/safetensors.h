// The safetensors format, version 1: 8 bytes header length (little-endian), a JSON header, the
// tensors' bytes. https://github.com/huggingface/safetensors, README, "Format".
#ifndef PHYLLO_MODEL_CHECKPOINT_SAFETENSORS_H_
#define PHYLLO_MODEL_CHECKPOINT_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"

namespace phyllo {

// The format's limit on the header: 100 MB.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = 100'000'000;

// The tensors of the file whose bytes are `file`, in the order of their data; the views borrow from
// it. Every view lies inside the file, and the views cover the data part exactly, without overlap
// or gap. `what` names the file in messages. Thread-safe. Errors: INVALID_ARGUMENT, naming the
// tensor: see Checkpoint::Open.
absl::StatusOr<std::vector<TensorView>> ParseSafetensors(absl::Span<const uint8_t> file,
                                                         absl::string_view what);

// A tensor of a file to be written.
struct TensorDeclaration {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
};

// What a file of those tensors begins with; their bytes follow in the same order, without gaps.
// REQUIRES: names are distinct.
std::string SafetensorsHeader(absl::Span<const TensorDeclaration> tensors);

// The shard of each tensor, as a model.safetensors.index.json gives it.
struct ShardIndex {
  // Tensor name -> file name, which has no folder part.
  std::map<std::string, std::string> weight_map;
};

// Errors: INVALID_ARGUMENT: not JSON, no weight_map, no tensors in it, a value that is no file name
// of the same folder.
absl::StatusOr<ShardIndex> ParseShardIndex(absl::string_view json, absl::string_view what);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_SAFETENSORS_H_
