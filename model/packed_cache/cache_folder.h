// Where the files that make the next start faster lie.
#ifndef PHYLLO_MODEL_PACKED_CACHE_CACHE_FOLDER_H_
#define PHYLLO_MODEL_PACKED_CACHE_CACHE_FOLDER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"

namespace phyllo {

// A model of fewer bytes is packed and digested faster than its user notices: by itself, nothing is
// cached for it.
inline constexpr int64_t kMinCachedModelBytes = int64_t{64} << 20;

// The paths of one model's cache. Nothing is made before it is written to.
struct CacheFolder {
  std::string path;  // absolute or relative; empty: nothing is cached
  std::string stem;  // what the names of the model's files in it begin with: its first shard's name

  bool enabled() const { return !path.empty(); }
};

// The folder that `choice` means for the model at `model_path` (a folder or a file):
//   "off"   none.
//   "auto"  none for a model below kMinCachedModelBytes; else ".phyllo" beside the weights if that
//           folder can be written, else a folder of the model's own in
//           $XDG_CACHE_HOME/phyllo/models or ~/.cache/phyllo/models, else none.
//   a path  a folder of the model's own in it, whatever the model's size.
// INVALID_ARGUMENT for an empty choice or a path that is there but no folder.
absl::StatusOr<CacheFolder> FindCacheFolder(absl::string_view choice, const std::string& model_path,
                                            const Checkpoint& checkpoint);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PACKED_CACHE_CACHE_FOLDER_H_
