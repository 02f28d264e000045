// The file that holds packed weights as they lie in memory.
#ifndef PHYLLO_MODEL_PACKED_CACHE_PACKED_IMAGE_H_
#define PHYLLO_MODEL_PACKED_CACHE_PACKED_IMAGE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/packed_cache/cache_folder.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/huge_page_arena.h"

namespace phyllo {

// Where the image goes when it is read.
enum class ImageMemory {
  kPrivate,    // a copy in huge pages of this process's own
  kShared,     // a read-only map of the file, whose pages all processes that map it have in common
  kAutomatic,  // the map if the kernel uses huge pages for it, else the copy: both are as fast to
               // read, but the map costs no memory to be cleared and no copying
};

// A file "STEM.KEYDIGEST.packed" with the memory of an arena, in order of allocation, under a key:
// a text that names all that decides those bytes, a line each, first the weights' digest. Code that
// allocates in the same order finds the same contents at the same places.
//
// Nothing of a file is believed: the key must be equal, sizes must fit the file, and the Checksum
// of every part must be what the header says, whose own SHA-256 is checked first. (They tell
// damage, not malice: who can write to the folder of the model can change the model.) Immutable,
// thread-safe.
class PackedImage {
 public:
  PackedImage(CacheFolder folder, std::string key, ImageMemory memory);

  // Reads and checks the file on all threads of the pool: an arena whose first allocations, of
  // image_bytes in all, are the image. `progress`, if not null, hears on the calling thread of
  // bytes done and in all.
  // NOT_FOUND: there is no file; FAILED_PRECONDITION: it is of another key or format; DATA_LOSS,
  // saying what is wrong: it is truncated or damaged; RESOURCE_EXHAUSTED: no memory; else the
  // system's error.
  struct Contents {
    HugePageArena arena;
    int64_t image_bytes;
    bool shared;  // the arena is a map of the file
  };
  absl::StatusOr<Contents> Read(
      ThreadPool& pool,
      const std::function<void(int64_t done_bytes, int64_t total_bytes)>& progress) const;

  // Writes what `arena` has handed out, which must not change meanwhile, and removes the images of
  // the same model that are of other weights or formats. CANCELLED soon after `stop` becomes true;
  // errors of FileReplacement. A reader or another writer never sees half a file.
  absl::Status Write(const HugePageArena& arena, const std::atomic<bool>& stop) const;

  const std::string& path() const { return path_; }

 private:
  void RemoveStale() const;

  const CacheFolder folder_;
  const std::string key_;
  const ImageMemory memory_;
  const std::string path_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PACKED_CACHE_PACKED_IMAGE_H_
