#ifndef PHYLLO_MODEL_TENSOR_HUGE_PAGE_ARENA_H_
#define PHYLLO_MODEL_TENSOR_HUGE_PAGE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace phyllo {

// Memory for weights, activations and KV pages: a bump allocator over anonymous mappings for which
// the kernel is asked to use 2 MiB pages (1.2 to 2 times the read bandwidth of 4 KiB pages).
// Nothing is given back before destruction, which unmaps everything. Pages are committed when first
// touched, so an unused tail costs address space only. Thread-compatible.
//
//   HugePageArena arena;
//   PHYLLO_ASSIGN_OR_RETURN(absl::Span<float> logits, arena.AllocateSpan<float>(b * vocab_size));
class HugePageArena {
 public:
  static constexpr int64_t kAlignment = 64;

  HugePageArena() = default;
  // An arena with `bytes` bytes mapped ahead of the first allocation, see rest().
  // RESOURCE_EXHAUSTED as Allocate.
  static absl::StatusOr<HugePageArena> Create(int64_t bytes);
  // An arena that first hands out `memory`, which lies in `mapping` and begins at a multiple of
  // kAlignment; owns the mapping and unmaps it. The memory may be read-only: Allocate does not
  // touch what it hands out.
  static HugePageArena OfMapping(absl::Span<std::byte> mapping, absl::Span<std::byte> memory);
  ~HugePageArena();
  HugePageArena(HugePageArena&& other) noexcept;
  HugePageArena& operator=(HugePageArena&& other) noexcept;
  HugePageArena(const HugePageArena&) = delete;
  HugePageArena& operator=(const HugePageArena&) = delete;

  // Requires bytes >= 0. Returns zeroed memory (or what rest() was filled with), 64-byte aligned,
  // valid as long as the arena (or the arena it is moved to) lives. RESOURCE_EXHAUSTED with the
  // wanted size when the kernel gives no mapping.
  absl::StatusOr<std::byte*> Allocate(int64_t bytes);

  // The same for `count` zeroed elements of a trivial type.
  template <typename T>
  absl::StatusOr<absl::Span<T>> AllocateSpan(int64_t count) {
    absl::StatusOr<std::byte*> memory = Allocate(count * static_cast<int64_t>(sizeof(T)));
    if (!memory.ok()) return memory.status();
    return absl::Span<T>(reinterpret_cast<T*>(*memory), static_cast<size_t>(count));
  }

  // Bytes handed out so far, alignment included.
  int64_t bytes() const { return bytes_; }

  // What is mapped and not handed out of the region in use: allocations that fit are cut from its
  // beginning, in order, so it can be filled ahead of them.
  absl::Span<std::byte> rest() const { return {next_, static_cast<size_t>(remaining_)}; }

  // All memory handed out, bytes() in all, in order of allocation; neighbours are joined.
  absl::Span<const absl::Span<const std::byte>> used() const { return used_; }

 private:
  struct Region {
    std::byte* data;
    int64_t size;
  };

  absl::Status AddRegion(int64_t bytes);
  std::byte* HandOut(int64_t bytes);
  void UnmapAll();

  std::vector<Region> regions_;
  std::byte* next_ = nullptr;  // bump pointer into the region allocated from
  int64_t remaining_ = 0;      // bytes left behind next_
  int64_t bytes_ = 0;
  std::vector<absl::Span<const std::byte>> used_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TENSOR_HUGE_PAGE_ARENA_H_
