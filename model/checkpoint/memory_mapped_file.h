// A whole file, mapped read-only.
#ifndef PHYLLO_MODEL_CHECKPOINT_MEMORY_MAPPED_FILE_H_
#define PHYLLO_MODEL_CHECKPOINT_MEMORY_MAPPED_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace phyllo {

// Owns the mapping and releases it. Move-only. Immutable, hence thread-safe.
class MemoryMappedFile {
 public:
  // Maps the regular file at `path`. An empty file gives empty data().
  // Errors: NOT_FOUND if it is missing; PERMISSION_DENIED; INVALID_ARGUMENT if it is not a regular
  // file; else UNKNOWN with the system's message.
  static absl::StatusOr<MemoryMappedFile> Open(const std::string& path);

  MemoryMappedFile(MemoryMappedFile&& other) noexcept : data_(std::exchange(other.data_, {})) {}
  MemoryMappedFile& operator=(MemoryMappedFile&& other) noexcept;
  ~MemoryMappedFile();

  absl::Span<const uint8_t> data() const { return data_; }

 private:
  explicit MemoryMappedFile(absl::Span<const uint8_t> data) : data_(data) {}

  absl::Span<const uint8_t> data_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_MEMORY_MAPPED_FILE_H_
