#include "model/checkpoint/memory_mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace phyllo {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileIdentity IdentityOf(const struct stat& info) {
  return {.inode = info.st_ino,
          .size = info.st_size,
          .mtime_ns = Nanoseconds(info.st_mtim),
          .ctime_ns = Nanoseconds(info.st_ctim)};
}

}  // namespace

absl::StatusOr<MemoryMappedFile> MemoryMappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  const auto closer = absl::MakeCleanup([descriptor] { close(descriptor); });
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot stat ", path));
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return MemoryMappedFile({}, path, IdentityOf(info));
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
  return MemoryMappedFile(absl::MakeConstSpan(static_cast<const uint8_t*>(address), size), path,
                          IdentityOf(info));
}

void MemoryMappedFile::DropPages(absl::Span<const uint8_t> range) {
  const auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(range.data());
  const uintptr_t first = (begin + page_size - 1) / page_size * page_size;
  const uintptr_t last = (begin + range.size()) / page_size * page_size;
  // Advice: if it is not taken, the pages stay.
  if (first < last) (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

bool MemoryMappedFile::IsUnchanged() const {
  struct stat info;
  return stat(path_.c_str(), &info) == 0 && IdentityOf(info) == identity_;
}

MemoryMappedFile& MemoryMappedFile::operator=(MemoryMappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(path_, other.path_);
  std::swap(identity_, other.identity_);
  return *this;
}

MemoryMappedFile::~MemoryMappedFile() {
  if (!data_.empty()) munmap(const_cast<uint8_t*>(data_.data()), data_.size());
}

}  // namespace phyllo
