#ifndef PHYLLO_MODEL_PACKED_CACHE_PACKED_IMAGE_WRITER_H_
#define PHYLLO_MODEL_PACKED_CACHE_PACKED_IMAGE_WRITER_H_

#include <atomic>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "model/packed_cache/packed_image.h"
#include "model/tensor/huge_page_arena.h"

namespace phyllo {

// Writes a packed image while the process serves: on a thread of its own, of the lowest priority
// for CPU and disk. Thread-safe.
class PackedImageWriter {
 public:
  // Begins to write `arena`, which must not change as long as this object lives, nor may `image`
  // go. `done` is called once, on the writer's thread, with Write's status.
  PackedImageWriter(const PackedImage& image, const HugePageArena& arena,
                    std::function<void(const absl::Status&)> done);
  // Gives up what is not written yet and waits for the thread: for a part of the image at most, or
  // for the disk if all is written.
  ~PackedImageWriter();
  PackedImageWriter(const PackedImageWriter&) = delete;
  PackedImageWriter& operator=(const PackedImageWriter&) = delete;

  // Gives up without waiting.
  void Stop() { stop_ = true; }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PACKED_CACHE_PACKED_IMAGE_WRITER_H_
