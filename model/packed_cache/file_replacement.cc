// Invariant: whoever holds the lock of the inode that PATH.tmp names may write it; the name is
// looked up again after locking, because the writer before may just have renamed that inode to
// PATH, where nobody may write any more.
#include "model/packed_cache/file_replacement.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace phyllo {
namespace {

std::string TemporaryPath(const std::string& path) { return path + ".tmp"; }

std::string FolderOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

absl::Status SystemError(const std::string& what) {
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(what + ": disk full");
  return absl::ErrnoToStatus(error, what);
}

bool NamesThisFile(const std::string& path, int descriptor) {
  struct stat named;
  struct stat opened;
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

absl::Status CheckRoom(int descriptor, int64_t bytes) {
  // A write beyond this limit would end the process with SIGXFSZ.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("a file of ", bytes,
                                                     " bytes is larger than the process's limit, ",
                                                     limit.rlim_cur, " (RLIMIT_FSIZE)"));
  }
  struct statvfs disk;
  if (fstatvfs(descriptor, &disk) != 0) return SystemError("cannot read the free space");
  const int64_t free_bytes =
      static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  if (free_bytes / 2 < bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a file of ", bytes,
                                                     " bytes wants twice as much free disk, ",
                                                     free_bytes, " bytes are free"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FileReplacement> FileReplacement::Begin(const std::string& path, int64_t bytes) {
  std::error_code error;
  std::filesystem::create_directories(FolderOf(path), error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make the folder ", FolderOf(path), ": ", error.message()));
  }
  const std::string temporary = TemporaryPath(path);
  // Twice at most: a second writer that has just finished is no reason to give up.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int descriptor =
        open(temporary.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (descriptor < 0) return SystemError(absl::StrCat("cannot write ", temporary));
    absl::Cleanup closer = [descriptor] { close(descriptor); };
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK)
        return absl::UnavailableError(absl::StrCat("another process is writing ", path));
      return absl::FailedPreconditionError(absl::StrCat("cannot lock ", temporary));
    }
    if (!NamesThisFile(temporary, descriptor)) continue;
    std::move(closer).Cancel();
    FileReplacement replacement(path, descriptor);
    if (ftruncate(descriptor, 0) != 0) return SystemError(absl::StrCat("cannot write ", temporary));
    if (absl::Status status = CheckRoom(descriptor, bytes); !status.ok()) return status;
    return replacement;
  }
  return absl::UnavailableError(absl::StrCat("other processes are writing ", path));
}

FileReplacement::~FileReplacement() {
  if (descriptor_ < 0) return;
  unlink(TemporaryPath(path_).c_str());
  close(descriptor_);
}

absl::Status FileReplacement::Write(absl::Span<const std::byte> data, int64_t offset) {
  while (!data.empty()) {
    const ssize_t written = pwrite(descriptor_, data.data(), data.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(absl::StrCat("cannot write ", TemporaryPath(path_)));
    data.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return absl::OkStatus();
}

void FileReplacement::StartFlush(int64_t offset, int64_t size) const {
  (void)sync_file_range(descriptor_, offset, size, SYNC_FILE_RANGE_WRITE);
}

absl::Status FileReplacement::Commit() {
  if (fsync(descriptor_) != 0) return SystemError(absl::StrCat("cannot write ", path_));
  if (std::rename(TemporaryPath(path_).c_str(), path_.c_str()) != 0)
    return SystemError(absl::StrCat("cannot write ", path_));
  close(descriptor_);
  descriptor_ = -1;
  // The name must survive a power cut too; that it is there already is no error to report.
  const int folder = open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)fsync(folder);
    close(folder);
  }
  return absl::OkStatus();
}

}  // namespace phyllo
