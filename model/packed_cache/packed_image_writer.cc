#include "model/packed_cache/packed_image_writer.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace phyllo {
namespace {

// Of this thread only. Where the kernel refuses, the priority stays as it is.
void TakeLowestPriority() {
  constexpr int kLowest = 19;
  // <linux/ioprio.h>: who is a process or thread; class "idle" in the top bits.
  constexpr int kIoPriorityWhoProcess = 1;
  constexpr int kIoPriorityIdle = 3 << 13;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLowest);
  (void)syscall(SYS_ioprio_set, kIoPriorityWhoProcess, 0, kIoPriorityIdle);
}

}  // namespace

PackedImageWriter::PackedImageWriter(const PackedImage& image, const HugePageArena& arena,
                                     std::function<void(const absl::Status&)> done)
    : thread_([this, &image, &arena, done = std::move(done)] {
        TakeLowestPriority();
        done(image.Write(arena, stop_));
      }) {}

PackedImageWriter::~PackedImageWriter() {
  Stop();
  thread_.join();
}

}  // namespace phyllo
