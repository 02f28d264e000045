// A whole file, mapped read-only.
#ifndef PHYLLO_MODEL_CHECKPOINT_MEMORY_MAPPED_FILE_H_
#define PHYLLO_MODEL_CHECKPOINT_MEMORY_MAPPED_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace phyllo {

// What tells one state of a file from another without reading it. Times are in nanoseconds since
// the epoch, as the file system keeps them.
struct FileIdentity {
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;  // when the contents were last written, as far as programs say
  int64_t ctime_ns = 0;  // when contents or attributes were last changed; only the kernel sets it

  bool operator==(const FileIdentity& other) const {
    return inode == other.inode && size == other.size && mtime_ns == other.mtime_ns &&
           ctime_ns == other.ctime_ns;
  }
};

// Owns the mapping and releases it. Move-only. Immutable, hence thread-safe.
class MemoryMappedFile {
 public:
  // Maps the regular file at `path`. An empty file gives empty data().
  // Errors: NOT_FOUND if it is missing; PERMISSION_DENIED; INVALID_ARGUMENT if it is not a regular
  // file; else UNKNOWN with the system's message.
  static absl::StatusOr<MemoryMappedFile> Open(const std::string& path);

  MemoryMappedFile(MemoryMappedFile&& other) noexcept
      : data_(std::exchange(other.data_, {})),
        path_(std::move(other.path_)),
        identity_(other.identity_) {}
  MemoryMappedFile& operator=(MemoryMappedFile&& other) noexcept;
  ~MemoryMappedFile();

  absl::Span<const uint8_t> data() const { return data_; }

  // Takes the pages that lie wholly in `range`, a part of data(), out of this process's memory:
  // they are in the system's cache, if anywhere, and come back when they are read.
  static void DropPages(absl::Span<const uint8_t> range);

  // The file when it was opened.
  const FileIdentity& identity() const { return identity_; }

  // Whether the path still names that file, in that state.
  bool IsUnchanged() const;

 private:
  MemoryMappedFile(absl::Span<const uint8_t> data, std::string path, const FileIdentity& identity)
      : data_(data), path_(std::move(path)), identity_(identity) {}

  absl::Span<const uint8_t> data_;
  std::string path_;
  FileIdentity identity_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_MEMORY_MAPPED_FILE_H_
