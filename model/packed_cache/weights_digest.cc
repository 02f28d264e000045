// The digest file is text, a line each:
//   phyllo-weights-digest VERSION
//   file INODE SIZE MTIME_NS CTIME_NS NAME     (a shard; in name order)
//   weights_sha256 HEX
//   check HEX                                  (SHA-256 of the lines before)
// Everything above the digest is built anew from the files at hand and compared as text.
#include "model/packed_cache/weights_digest.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/base/digest.h"
#include "model/base/status_macros.h"
#include "model/packed_cache/file_replacement.h"

namespace phyllo {
namespace {

constexpr int kVersion = 1;
// The kernel stamps files by a clock that ticks this often, so two changes within a tick look
// alike.
constexpr absl::Duration kClockTick = absl::Milliseconds(20);

std::string DescribeFiles(const Checkpoint& checkpoint) {
  std::string text = absl::StrCat("phyllo-weights-digest ", kVersion, "\n");
  for (const Checkpoint::Shard& shard : checkpoint.shards()) {
    const FileIdentity& identity = shard.file.identity();
    absl::StrAppend(&text, "file ", identity.inode, " ", identity.size, " ", identity.mtime_ns, " ",
                    identity.ctime_ns, " ", shard.name, "\n");
  }
  return text;
}

std::string WithCheck(const std::string& text) {
  return absl::StrCat(text, "check ", Sha256Hex(text), "\n");
}

std::string PathOf(const CacheFolder& folder) {
  return absl::StrCat(folder.path, "/", folder.stem, ".digest");
}

bool IsDigest(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

// The digest that the file at `path` has for files that are as `files` says.
absl::StatusOr<std::string> ReadDigestFile(const std::string& path, const std::string& files) {
  PHYLLO_ASSIGN_OR_RETURN(const MemoryMappedFile file, MemoryMappedFile::Open(path));
  const absl::string_view text(reinterpret_cast<const char*>(file.data().data()),
                               file.data().size());
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, files))
    return absl::FailedPreconditionError("the digest file is of files that have changed since");
  const absl::string_view digest =
      absl::ConsumePrefix(&rest, "weights_sha256 ") ? rest.substr(0, 64) : "";
  if (!IsDigest(digest) ||
      text != WithCheck(absl::StrCat(files, "weights_sha256 ", digest, "\n"))) {
    return absl::DataLossError("the digest file is damaged");
  }
  return std::string(digest);
}

// Whether the files are what they were when they were opened, and so old that a change since
// `start` would show in their times.
bool AreSettled(const Checkpoint& checkpoint, absl::Time start) {
  return std::all_of(checkpoint.shards().begin(), checkpoint.shards().end(),
                     [start](const Checkpoint::Shard& shard) {
                       const absl::Time changed = absl::FromUnixNanos(std::max(
                           shard.file.identity().ctime_ns, shard.file.identity().mtime_ns));
                       return changed + kClockTick < start && shard.file.IsUnchanged();
                     });
}

absl::Status WriteDigestFile(const std::string& path, const std::string& text) {
  const auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
  PHYLLO_ASSIGN_OR_RETURN(FileReplacement file,
                          FileReplacement::Begin(path, static_cast<int64_t>(text.size())));
  PHYLLO_RETURN_IF_ERROR(file.Write(bytes, 0));
  return file.Commit();
}

}  // namespace

absl::StatusOr<WeightsDigest> FindWeightsDigest(const Checkpoint& checkpoint,
                                                const WeightsDigestOptions& options) {
  const absl::Time start = absl::Now();
  const std::string files = DescribeFiles(checkpoint);
  WeightsDigest digest;
  if (options.folder.enabled() && !options.verify) {
    absl::StatusOr<std::string> known = ReadDigestFile(PathOf(options.folder), files);
    digest.file_status = known.status();
    if (known.ok()) {
      digest.sha256 = *std::move(known);
      digest.from_file = true;
      return digest;
    }
  }
  PHYLLO_ASSIGN_OR_RETURN(digest.sha256,
                          ComputeWeightsDigest(checkpoint, [&](int64_t done, int64_t total) {
                            if (options.progress) options.progress(done, total);
                            return true;
                          }));
  if (!options.folder.enabled()) return digest;
  if (!AreSettled(checkpoint, start)) {
    digest.file_status = absl::FailedPreconditionError(
        "the weights have just changed; their digest is not kept this time");
    return digest;
  }
  const absl::Status written =
      WriteDigestFile(PathOf(options.folder),
                      WithCheck(absl::StrCat(files, "weights_sha256 ", digest.sha256, "\n")));
  // Another service of the same model is writing the same lines.
  if (!written.ok() && !absl::IsUnavailable(written)) digest.file_status = written;
  return digest;
}

}  // namespace phyllo
