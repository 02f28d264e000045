#include "model/kv_cache/kv_cache.h"

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"

// Invariant: every page starts on a cache line, because the arena does and the page stride is a
// multiple of one.

namespace phyllo {
namespace {

absl::Status CheckRange(absl::string_view name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("KV cache: ", name, " is ", value, ", must be in [", low, ", ", high, "]"));
}

int64_t PageStride(const KvLayout& layout) {
  return (layout.page_bytes() + HugePageArena::kAlignment - 1) / HugePageArena::kAlignment *
         HugePageArena::kAlignment;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KvCache>> KvCache::Create(const KvLayout& layout,
                                                         int64_t num_hidden_layers,
                                                         int64_t page_count) {
  PHYLLO_RETURN_IF_ERROR(layout.Validate());
  PHYLLO_RETURN_IF_ERROR(CheckRange("num_key_value_heads", layout.num_key_value_heads, 1, 1 << 16));
  PHYLLO_RETURN_IF_ERROR(CheckRange("num_hidden_layers", num_hidden_layers, 1, 1 << 16));
  PHYLLO_RETURN_IF_ERROR(
      CheckRange("page_count", page_count, 0, std::numeric_limits<int32_t>::max()));
  int64_t total_bytes = 0;
  if (__builtin_mul_overflow(PageStride(layout), num_hidden_layers, &total_bytes) ||
      __builtin_mul_overflow(total_bytes, page_count, &total_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("KV cache: ", page_count, " pages of ", num_hidden_layers, " layers x ",
                     PageStride(layout), " bytes exceed the address space"));
  }
  HugePageArena arena;
  PHYLLO_ASSIGN_OR_RETURN(std::byte* const data, arena.Allocate(total_bytes));
  return std::unique_ptr<KvCache>(
      new KvCache(layout, num_hidden_layers, page_count, std::move(arena), data));
}

KvCache::KvCache(const KvLayout& layout, int64_t num_hidden_layers, int64_t page_count,
                 HugePageArena arena, std::byte* data)
    : layout_(layout),
      num_hidden_layers_(num_hidden_layers),
      arena_(std::move(arena)),
      data_(data),
      allocator_(page_count) {}

KvLayer KvCache::layer(int64_t index) const {
  const int64_t page_stride = PageStride(layout_);
  return {.layout = layout_,
          .base = data_ + index * allocator_.page_count() * page_stride,
          .page_stride = page_stride};
}

}  // namespace phyllo
