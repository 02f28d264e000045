// Invariants: regions_ holds every mapping; [next_, next_ + remaining_) lies in one of them (or
// remaining_ is 0) and next_ is 64-byte aligned. A request larger than kRegionSize gets a region of
// its own size; the rest of the region before it is kept for small requests when it is the larger
// of the two.
#include "model/tensor/huge_page_arena.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/rounding.h"

namespace phyllo {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kRegionSize = int64_t{64} << 20;

}  // namespace

HugePageArena::~HugePageArena() { UnmapAll(); }

HugePageArena::HugePageArena(HugePageArena&& other) noexcept
    : regions_(std::exchange(other.regions_, {})),
      next_(std::exchange(other.next_, nullptr)),
      remaining_(std::exchange(other.remaining_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      used_(std::exchange(other.used_, {})) {}

HugePageArena& HugePageArena::operator=(HugePageArena&& other) noexcept {
  if (this == &other) return *this;
  UnmapAll();
  regions_ = std::exchange(other.regions_, {});
  next_ = std::exchange(other.next_, nullptr);
  remaining_ = std::exchange(other.remaining_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  used_ = std::exchange(other.used_, {});
  return *this;
}

absl::StatusOr<HugePageArena> HugePageArena::Create(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() / 2) {
    return absl::ResourceExhaustedError(absl::StrCat("an arena of ", bytes, " bytes is too large"));
  }
  HugePageArena arena;
  if (absl::Status status = arena.AddRegion(bytes); !status.ok()) return status;
  return arena;
}

HugePageArena HugePageArena::OfMapping(absl::Span<std::byte> mapping,
                                       absl::Span<std::byte> memory) {
  HugePageArena arena;
  arena.regions_.push_back({mapping.data(), static_cast<int64_t>(mapping.size())});
  arena.next_ = memory.data();
  arena.remaining_ = static_cast<int64_t>(memory.size()) / kAlignment * kAlignment;
  return arena;
}

absl::StatusOr<std::byte*> HugePageArena::Allocate(int64_t bytes) {
  if (bytes > std::numeric_limits<int64_t>::max() / 2) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an allocation of ", bytes, " bytes is too large"));
  }
  const int64_t size = RoundUp(bytes, kAlignment);
  if (size > remaining_) {
    std::byte* const kept_next = next_;
    const int64_t kept = remaining_;
    if (absl::Status status = AddRegion(size); !status.ok()) return status;
    if (remaining_ - size < kept) {
      std::byte* const memory = HandOut(size);
      next_ = kept_next;
      remaining_ = kept;
      return memory;
    }
  }
  return HandOut(size);
}

std::byte* HugePageArena::HandOut(int64_t bytes) {
  std::byte* const memory = next_;
  next_ += bytes;
  remaining_ -= bytes;
  bytes_ += bytes;
  if (!used_.empty() && used_.back().data() + used_.back().size() == memory) {
    used_.back() = {used_.back().data(), used_.back().size() + static_cast<size_t>(bytes)};
  } else if (bytes > 0) {
    used_.emplace_back(memory, static_cast<size_t>(bytes));
  }
  return memory;
}

absl::Status HugePageArena::AddRegion(int64_t bytes) {
  const int64_t size = bytes > kRegionSize ? RoundUp(bytes, kHugePage) : kRegionSize;
  // One huge page more, so that the region can start at a huge page's boundary.
  const int64_t mapped = size + kHugePage;
  void* const address = mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the kernel gives no mapping of ", mapped, " bytes"));
  }
  regions_.push_back({static_cast<std::byte*>(address), mapped});
  const auto start = reinterpret_cast<uintptr_t>(address);
  const uintptr_t aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
  next_ = static_cast<std::byte*>(address) + (aligned - start);
  remaining_ = size;
  // Advice only: where the kernel has no huge pages the memory is as correct, but slower.
  (void)madvise(next_, static_cast<size_t>(size), MADV_HUGEPAGE);
  return absl::OkStatus();
}

void HugePageArena::UnmapAll() {
  for (const Region& region : regions_) munmap(region.data, static_cast<size_t>(region.size));
  regions_.clear();
}

}  // namespace phyllo
