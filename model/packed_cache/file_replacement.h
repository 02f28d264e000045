// Writing a file so that readers see the old one or the new one, whole.
#ifndef PHYLLO_MODEL_PACKED_CACHE_FILE_REPLACEMENT_H_
#define PHYLLO_MODEL_PACKED_CACHE_FILE_REPLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace phyllo {

// Owns "PATH.tmp", locked so that one process at a time writes it; Commit renames it to PATH,
// anything else removes it. What a killed writer leaves behind is taken over by the next one.
// Move-only, thread-compatible.
class FileReplacement {
 public:
  // Makes the folder of `path` if it is missing. UNAVAILABLE if another writer is at work;
  // RESOURCE_EXHAUSTED if the disk has less than twice `bytes` free or the process may not write
  // files of that size; else the system's error: PERMISSION_DENIED, FAILED_PRECONDITION (a
  // read-only file system, no locks) ...
  static absl::StatusOr<FileReplacement> Begin(const std::string& path, int64_t bytes);

  FileReplacement(FileReplacement&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileReplacement& operator=(FileReplacement&& other) = delete;
  ~FileReplacement();

  // Writes all of `data` at `offset`. RESOURCE_EXHAUSTED when the disk is full, else the system's
  // error.
  absl::Status Write(absl::Span<const std::byte> data, int64_t offset);

  // Starts to bring what was written of [offset, offset + size) to the disk, so that Commit waits
  // less and a large file does not fill memory with pages that are yet to be written. Advice only.
  void StartFlush(int64_t offset, int64_t size) const;

  // Brings everything to the disk and puts it in place of PATH. REQUIRES: called once, last.
  absl::Status Commit();

 private:
  FileReplacement(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;  // of PATH.tmp; -1 once committed or moved from
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PACKED_CACHE_FILE_REPLACEMENT_H_
