// The file:
//   header   Prefix, the key, a Checksum for each chunk of the image, a SHA-256 of all that
//   padding  zeros up to a multiple of 2 MiB, so that the image can be mapped with huge pages
//   image    image_bytes, in chunks of kChunkBytes, the last one shorter
// Numbers are little-endian, as on every CPU this library runs on. The header is written after the
// image, the file is renamed into place after both: a file under its name was whole once.
#include "model/packed_cache/packed_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "model/base/checksum.h"
#include "model/base/digest.h"
#include "model/base/rounding.h"
#include "model/base/status_macros.h"
#include "model/packed_cache/file_mapping.h"
#include "model/packed_cache/file_replacement.h"

namespace phyllo {
namespace {

constexpr uint32_t kFormatVersion = 2;
constexpr char kMagic[8] = {'P', 'H', 'Y', 'L', 'L', 'O', 'P', 'K'};
constexpr int64_t kChunkBytes = int64_t{4} << 20;
constexpr int64_t kPieceBytes = int64_t{256} << 10;  // read, then checked while it is in the cache
constexpr int64_t kImageAlignment = int64_t{2} << 20;
static_assert(HugePageArena::kAlignment % Checksum::kBlockBytes == 0);
constexpr int64_t kMaxKeyBytes = 4096;
constexpr int64_t kMaxImageBytes = int64_t{1} << 44;  // bounds the header's memory at 128 MiB
constexpr int64_t kDigestBytes = 32;                  // of a SHA-256, and of a Checksum
constexpr absl::string_view kSuffix = ".packed";

struct Prefix {
  char magic[8];
  uint32_t format_version;
  uint32_t key_bytes;
  int64_t image_bytes;
  int64_t chunk_bytes;
};

int64_t ChunkCount(int64_t image_bytes) { return CeilDiv(image_bytes, kChunkBytes); }

int64_t HeaderBytes(int64_t key_bytes, int64_t image_bytes) {
  return static_cast<int64_t>(sizeof(Prefix)) + key_bytes +
         (ChunkCount(image_bytes) + 1) * kDigestBytes;
}

int64_t ImageOffset(int64_t key_bytes, int64_t image_bytes) {
  return RoundUp(HeaderBytes(key_bytes, image_bytes), kImageAlignment);
}

std::string DigestOf(absl::string_view bytes) { return absl::HexStringToBytes(Sha256Hex(bytes)); }

absl::Status ReadFully(int descriptor, void* data, int64_t size, int64_t offset) {
  auto* target = static_cast<std::byte*>(data);
  while (size > 0) {
    const ssize_t count = pread(descriptor, target, static_cast<size_t>(size), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, "cannot read the packed image");
    if (count == 0) return absl::DataLossError("the packed image ends too early");
    target += count;
    size -= count;
    offset += count;
  }
  return absl::OkStatus();
}

// A file and what its checked header says.
struct OpenImage {
  int descriptor;
  std::string key;
  int64_t image_bytes;
  int64_t image_offset;
  std::string chunk_checksums;  // kDigestBytes each
};

// Reads and checks the header of the file; every size it tells fits the file.
absl::StatusOr<OpenImage> ReadHeader(int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return absl::ErrnoToStatus(errno, "cannot stat the image");
  if (!S_ISREG(info.st_mode)) return absl::DataLossError("the packed image is no regular file");
  Prefix prefix;
  PHYLLO_RETURN_IF_ERROR(ReadFully(descriptor, &prefix, sizeof(prefix), 0));
  if (std::memcmp(prefix.magic, kMagic, sizeof(kMagic)) != 0)
    return absl::DataLossError("the file is no packed image");
  if (prefix.format_version != kFormatVersion || prefix.chunk_bytes != kChunkBytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the packed image has format ", prefix.format_version, ", not ", kFormatVersion));
  }
  if (prefix.key_bytes > kMaxKeyBytes || prefix.image_bytes < 0 ||
      prefix.image_bytes > kMaxImageBytes || prefix.image_bytes % HugePageArena::kAlignment != 0 ||
      ImageOffset(prefix.key_bytes, prefix.image_bytes) + prefix.image_bytes != info.st_size) {
    return absl::DataLossError(absl::StrCat("the packed image of ", prefix.image_bytes,
                                            " bytes does not fit its file of ", info.st_size,
                                            " bytes"));
  }
  std::string header(HeaderBytes(prefix.key_bytes, prefix.image_bytes), '\0');
  PHYLLO_RETURN_IF_ERROR(
      ReadFully(descriptor, header.data(), static_cast<int64_t>(header.size()), 0));
  const size_t checked = header.size() - kDigestBytes;
  if (DigestOf(absl::string_view(header).substr(0, checked)) != header.substr(checked))
    return absl::DataLossError("the header of the packed image is damaged");
  return OpenImage{.descriptor = descriptor,
                   .key = header.substr(sizeof(Prefix), prefix.key_bytes),
                   .image_bytes = prefix.image_bytes,
                   .image_offset = ImageOffset(prefix.key_bytes, prefix.image_bytes),
                   .chunk_checksums = header.substr(sizeof(Prefix) + prefix.key_bytes,
                                                    checked - sizeof(Prefix) - prefix.key_bytes)};
}

// Memory of the image's size that is a map of the file.
absl::StatusOr<HugePageArena> MapImage(const OpenImage& image) {
  // One huge page more, so that the map can begin at a huge page's boundary.
  const auto size = static_cast<size_t>(image.image_bytes + kImageAlignment);
  void* const reserved = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED)
    return absl::ResourceExhaustedError(absl::StrCat("no mapping of ", size, " bytes"));
  auto* const mapping = static_cast<std::byte*>(reserved);
  std::byte* const begin = mapping +
                           RoundUp(reinterpret_cast<intptr_t>(reserved), kImageAlignment) -
                           reinterpret_cast<intptr_t>(reserved);
  HugePageArena arena =
      HugePageArena::OfMapping({mapping, size}, {begin, static_cast<size_t>(image.image_bytes)});
  if (mmap(begin, static_cast<size_t>(image.image_bytes), PROT_READ, MAP_SHARED | MAP_FIXED,
           image.descriptor, image.image_offset) == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, "cannot map the packed image");
  }
  // Advice only: file systems with large folios (ext4 and xfs of recent kernels, tmpfs) give huge
  // pages, others small ones.
  (void)madvise(begin, static_cast<size_t>(image.image_bytes), MADV_HUGEPAGE);
  (void)madvise(begin, static_cast<size_t>(image.image_bytes), MADV_WILLNEED);
  return arena;
}

// Whether the kernel maps the beginning of a mapped image, which is touched here, with huge pages.
bool HasHugePages(const HugePageArena& mapped) {
  constexpr int64_t kProbedBytes = int64_t{64} << 20;
  constexpr int64_t kPageBytes = 4096;
  const absl::Span<const std::byte> probed = mapped.rest().subspan(0, kProbedBytes);
  const volatile std::byte* const bytes = probed.data();
  for (size_t i = 0; i < probed.size(); i += kPageBytes) (void)bytes[i];
  return 2 * ReadHugeFileBytes(probed.data()) >= static_cast<int64_t>(probed.size());
}

// Reads (unless it is a map of the file) and checks one chunk of the image into `memory`.
absl::Status LoadChunk(const OpenImage& image, int64_t chunk, bool mapped,
                       absl::Span<std::byte> memory) {
  Checksum checksum;
  const int64_t end = std::min(image.image_bytes, (chunk + 1) * kChunkBytes);
  for (int64_t begin = chunk * kChunkBytes; begin < end; begin += kPieceBytes) {
    const int64_t size = std::min(kPieceBytes, end - begin);
    if (!mapped) {
      PHYLLO_RETURN_IF_ERROR(
          ReadFully(image.descriptor, memory.data() + begin, size, image.image_offset + begin));
    }
    checksum.Update(memory.subspan(begin, size));
  }
  if (checksum.Finish() != image.chunk_checksums.substr(chunk * kDigestBytes, kDigestBytes)) {
    return absl::DataLossError(absl::StrCat("the packed image is damaged between bytes ",
                                            chunk * kChunkBytes, " and ", end));
  }
  return absl::OkStatus();
}

// Which line of its key tells an image from the one that is wanted.
std::string FirstDifference(absl::string_view have, absl::string_view want) {
  size_t line = 0;
  for (size_t i = 0; i < std::min(have.size(), want.size()) && have[i] == want[i]; ++i)
    if (have[i] == '\n') line = i + 1;
  have = have.substr(line, have.find('\n', line) - line);
  want = want.substr(line, want.find('\n', line) - line);
  return absl::StrCat("\"", have, "\", not \"", want, "\"");
}

// Writes the pieces of an arena, whose sizes are multiples of HugePageArena::kAlignment, as one row
// of chunks, with their checksums.
class ChunkWriter {
 public:
  ChunkWriter(FileReplacement& file, int64_t image_offset)
      : file_(file), image_offset_(image_offset) {}

  absl::Status Append(absl::Span<const std::byte> bytes) {
    const int64_t room = kChunkBytes - written_ % kChunkBytes;
    const auto size = std::min(room, static_cast<int64_t>(bytes.size()));
    PHYLLO_RETURN_IF_ERROR(file_.Write(bytes.first(size), image_offset_ + written_));
    checksum_.Update(bytes.first(size));
    written_ += size;
    if (size == room) FinishChunk();
    return absl::OkStatus();
  }

  // Bytes that the next Append takes at most.
  int64_t room() const { return kChunkBytes - written_ % kChunkBytes; }

  // The checksums of all chunks. REQUIRES: called once, last.
  std::string Finish() {
    if (written_ % kChunkBytes != 0) FinishChunk();
    return std::move(checksums_);
  }

 private:
  void FinishChunk() {
    checksums_ += checksum_.Finish();
    checksum_ = Checksum();
    const int64_t begin = (written_ - 1) / kChunkBytes * kChunkBytes;
    file_.StartFlush(image_offset_ + begin, written_ - begin);
  }

  FileReplacement& file_;
  const int64_t image_offset_;
  int64_t written_ = 0;
  Checksum checksum_;
  std::string checksums_;
};

absl::StatusOr<std::string> WriteChunks(const HugePageArena& arena, ChunkWriter& writer,
                                        const std::atomic<bool>& stop) {
  for (absl::Span<const std::byte> piece : arena.used()) {
    while (!piece.empty()) {
      if (stop) return absl::CancelledError("writing the packed image was stopped");
      const auto size = std::min(writer.room(), static_cast<int64_t>(piece.size()));
      PHYLLO_RETURN_IF_ERROR(writer.Append(piece.first(size)));
      piece.remove_prefix(size);
    }
  }
  return writer.Finish();
}

std::string MakeHeader(const std::string& key, int64_t image_bytes,
                       const std::string& chunk_checksums) {
  Prefix prefix = {.magic = {},
                   .format_version = kFormatVersion,
                   .key_bytes = static_cast<uint32_t>(key.size()),
                   .image_bytes = image_bytes,
                   .chunk_bytes = kChunkBytes};
  std::memcpy(prefix.magic, kMagic, sizeof(kMagic));
  std::string header(reinterpret_cast<const char*>(&prefix), sizeof(prefix));
  header += key;
  header += chunk_checksums;
  header += DigestOf(header);
  return header;
}

std::string FirstLine(const std::string& key) { return key.substr(0, key.find('\n')); }

int OpenForReading(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

PackedImage::PackedImage(CacheFolder folder, std::string key, ImageMemory memory)
    : folder_(std::move(folder)),
      key_(std::move(key)),
      memory_(memory),
      path_(absl::StrCat(folder_.path, "/", folder_.stem, ".", Sha256Hex(key_).substr(0, 16),
                         kSuffix)) {}

absl::StatusOr<PackedImage::Contents> PackedImage::Read(
    ThreadPool& pool,
    const std::function<void(int64_t done_bytes, int64_t total_bytes)>& progress) const {
  const int descriptor = OpenForReading(path_);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR))
    return absl::NotFoundError("there is no packed image yet");
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "cannot open the packed image");
  const auto closer = absl::MakeCleanup([descriptor] { close(descriptor); });
  PHYLLO_ASSIGN_OR_RETURN(const OpenImage image, ReadHeader(descriptor));
  if (image.key != key_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the packed image is of ", FirstDifference(image.key, key_)));
  }
  bool mapped = memory_ != ImageMemory::kPrivate && image.image_bytes > 0;
  absl::StatusOr<HugePageArena> arena =
      mapped ? MapImage(image) : HugePageArena::Create(image.image_bytes);
  if (mapped && memory_ == ImageMemory::kAutomatic && (!arena.ok() || !HasHugePages(*arena))) {
    mapped = false;
    arena = HugePageArena::Create(image.image_bytes);
  }
  PHYLLO_RETURN_IF_ERROR(arena.status());
  const absl::Span<std::byte> memory = arena->rest().first(image.image_bytes);
  std::atomic<int64_t> done{0};
  absl::Mutex mutex;
  absl::Status first_error;
  pool.ParallelFor(ChunkCount(image.image_bytes), [&](int64_t chunk, int worker) {
    const absl::Status status = LoadChunk(image, chunk, mapped, memory);
    done += std::min(kChunkBytes, image.image_bytes - chunk * kChunkBytes);
    // Worker 0 is the calling thread.
    if (worker == 0 && progress) progress(done, image.image_bytes);
    if (status.ok()) return;
    absl::MutexLock lock(&mutex);
    first_error.Update(status);
  });
  PHYLLO_RETURN_IF_ERROR(first_error);
  if (progress) progress(image.image_bytes, image.image_bytes);
  return Contents{.arena = *std::move(arena), .image_bytes = image.image_bytes, .shared = mapped};
}

absl::Status PackedImage::Write(const HugePageArena& arena, const std::atomic<bool>& stop) const {
  if (key_.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the key of the packed image has ", key_.size(),
                                                   " bytes, more than ", kMaxKeyBytes));
  }
  const int64_t image_offset = ImageOffset(static_cast<int64_t>(key_.size()), arena.bytes());
  PHYLLO_ASSIGN_OR_RETURN(FileReplacement file,
                          FileReplacement::Begin(path_, image_offset + arena.bytes()));
  ChunkWriter writer(file, image_offset);
  PHYLLO_ASSIGN_OR_RETURN(const std::string checksums, WriteChunks(arena, writer, stop));
  const std::string header = MakeHeader(key_, arena.bytes(), checksums);
  PHYLLO_RETURN_IF_ERROR(
      file.Write({reinterpret_cast<const std::byte*>(header.data()), header.size()}, 0));
  if (stop) return absl::CancelledError("writing the packed image was stopped");
  PHYLLO_RETURN_IF_ERROR(file.Commit());
  RemoveStale();
  return absl::OkStatus();
}

void PackedImage::RemoveStale() const {
  std::error_code error;
  std::vector<std::string> stale;
  for (std::filesystem::directory_iterator it(folder_.path, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!absl::StartsWith(name, folder_.stem + ".") || !absl::EndsWith(name, kSuffix) ||
        name.size() != folder_.stem.size() + 17 + kSuffix.size() || it->path() == path_) {
      continue;
    }
    const int descriptor = OpenForReading(it->path());
    if (descriptor < 0) continue;
    const auto closer = absl::MakeCleanup([descriptor] { close(descriptor); });
    const absl::StatusOr<OpenImage> image = ReadHeader(descriptor);
    if (!image.ok() || FirstLine(image->key) != FirstLine(key_)) stale.push_back(it->path());
  }
  // Of this model's images, those of weights that are no longer there, and those nobody can read.
  for (const std::string& path : stale) unlink(path.c_str());
}

}  // namespace phyllo
