// The tensors of a model: of a Hugging Face folder (model.safetensors, or shards named by
// model.safetensors.index.json) or of a GGUF file.
//
//   PHYLLO_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::Open("/models/m"));
//   const TensorView* tensor = checkpoint->Find("model.embed_tokens.weight");
#ifndef PHYLLO_MODEL_CHECKPOINT_CHECKPOINT_H_
#define PHYLLO_MODEL_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/gguf.h"
#include "model/checkpoint/memory_mapped_file.h"
#include "model/checkpoint/tensor_view.h"

namespace phyllo {

// Owns read-only memory maps of the files; the views borrow from it. Pages are read on first touch,
// so that opening is fast and a tensor that nobody reads costs no memory. The files must not change
// while it lives: a file that is truncated under a map kills the process (SIGBUS), as it does with
// every memory-mapped reader. Immutable after Open, hence thread-safe.
class Checkpoint {
 public:
  // Opens the model at `path`: a folder, or a GGUF file as FindGgufFiles (gguf_files.h) says. Reads
  // headers only, checks them whole: afterwards every view lies inside its file. A
  // model.safetensors wins over an index, as in transformers.
  // Errors, naming the file and the tensor:
  // - those of FindGgufFiles and ParseGguf (gguf.h).
  // - NOT_FOUND: no such folder, neither model.safetensors nor an index in it, an index that names
  //   a missing shard.
  // - INVALID_ARGUMENT: a truncated file, a header that is longer than its file or 100 MB, bad
  //   JSON, a duplicate name, overlapping, out-of-range or gapped offsets, a byte count that is not
  //   shape x dtype, an unknown dtype, an index that names a shard outside the folder or disagrees
  //   with its shards on where a tensor is.
  static absl::StatusOr<std::unique_ptr<Checkpoint>> Open(absl::string_view path);

  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // The tensor of that name, or null. Valid as long as the checkpoint.
  const TensorView* Find(absl::string_view name) const;

  // All tensors, in name order.
  absl::Span<const TensorView> tensors() const { return tensors_; }

  // The header of the GGUF file, of a split model that of its first part; null for safetensors.
  const GgufContents* gguf() const { return gguf_.get(); }

  // Sum of the tensors' bytes.
  int64_t total_bytes() const { return total_bytes_; }

  // A file of the checkpoint: its name inside the folder and all its bytes, header included.
  struct Shard {
    std::string name;
    MemoryMappedFile file;
  };

  // In name order.
  absl::Span<const Shard> shards() const { return shards_; }

  // Takes all pages of the files out of this process's memory; what is read again comes back.
  void DropPages() const;

 private:
  Checkpoint() = default;

  absl::Status OpenSafetensors(const std::string& folder);
  absl::Status OpenGguf(absl::Span<const std::string> files);
  // Adds the tensors of one file; INVALID_ARGUMENT if one is there already.
  absl::Status AddShard(std::string name, MemoryMappedFile file, std::vector<TensorView> views);
  void IndexTensors();

  std::vector<Shard> shards_;
  std::vector<TensorView> tensors_;                          // sorted by name
  absl::flat_hash_map<absl::string_view, int64_t> by_name_;  // keys borrow from tensors_
  absl::flat_hash_map<std::string, std::string> shard_of_;   // tensor name -> shard name
  std::unique_ptr<GgufContents> gguf_;                       // borrows from shards_
  int64_t total_bytes_ = 0;
};

// SHA-256, in lower-case hex, over the bytes of all shards in name order: the weights' part of the
// model fingerprint. Reads every byte (about 0.5 to 2 GB/s a core) and drops its page. `progress`,
// if not null, is called with bytes done and bytes in all, at least once per 64 MB; returning false
// stops the work. Errors: CANCELLED if stopped.
absl::StatusOr<std::string> ComputeWeightsDigest(
    const Checkpoint& checkpoint,
    const std::function<bool(int64_t done_bytes, int64_t total_bytes)>& progress = nullptr);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_CHECKPOINT_H_
