#include "model/kv_cache/kv_cache.h"

#include <cstring>
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

absl::StatusOr<int64_t> GroupBytes(const KvLayout& layout, int64_t layer_count,
                                   int64_t page_count) {
  PHYLLO_RETURN_IF_ERROR(
      CheckRange("page_count", page_count, 0, std::numeric_limits<int32_t>::max()));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(KvCache::PageStride(layout), layer_count, &bytes) ||
      __builtin_mul_overflow(bytes, page_count, &bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("KV cache: ", page_count, " pages of ", layer_count, " layers x ",
                     KvCache::PageStride(layout), " bytes exceed the address space"));
  }
  return bytes;
}

}  // namespace

int64_t KvCache::PageStride(const KvLayout& layout) {
  return (layout.page_bytes() + HugePageArena::kAlignment - 1) / HugePageArena::kAlignment *
         HugePageArena::kAlignment;
}

absl::StatusOr<std::unique_ptr<KvCache>> KvCache::Create(const KvLayout& layout,
                                                         const KvLayerGroups& groups,
                                                         absl::Span<const int64_t> page_counts) {
  PHYLLO_RETURN_IF_ERROR(layout.Validate());
  PHYLLO_RETURN_IF_ERROR(CheckRange("num_key_value_heads", layout.num_key_value_heads, 1, 1 << 16));
  PHYLLO_RETURN_IF_ERROR(CheckRange("number of layers", groups.group_of_layer.size(), 1, 1 << 16));
  PHYLLO_RETURN_IF_ERROR(CheckRange("number of page counts", page_counts.size(),
                                    groups.group_count(), groups.group_count()));
  std::vector<Group> storage;
  for (int64_t group = 0; group < groups.group_count(); ++group) {
    Group& added = storage.emplace_back();
    added.layer_count = groups.LayerCount(group);
    PHYLLO_ASSIGN_OR_RETURN(const int64_t bytes,
                            GroupBytes(layout, added.layer_count, page_counts[group]));
    PHYLLO_ASSIGN_OR_RETURN(added.data, added.arena.Allocate(bytes));
    added.allocator = std::make_unique<PageAllocator>(page_counts[group]);
  }
  return std::unique_ptr<KvCache>(new KvCache(layout, groups, std::move(storage)));
}

KvCache::KvCache(const KvLayout& layout, const KvLayerGroups& layer_groups,
                 std::vector<Group> groups)
    : layout_(layout), group_of_layer_(layer_groups.group_of_layer), groups_(std::move(groups)) {
  std::vector<int64_t> layers_so_far(groups_.size(), 0);
  for (const int64_t group : group_of_layer_) index_in_group_.push_back(layers_so_far[group]++);
  for (size_t group = 0; group < groups_.size(); ++group)
    page_groups_.push_back({groups_[group].allocator.get(), layer_groups.windows[group]});
}

KvLayer KvCache::layer(int64_t index) const {
  const Group& group = groups_[group_of_layer_[index]];
  return {.layout = layout_,
          .base = group.data + index_in_group_[index] * PageStride(layout_),
          .page_stride = group.layer_count * PageStride(layout_)};
}

void KvCache::CopyPage(int64_t group, int32_t source, int32_t target) {
  const int64_t bytes = groups_[group].layer_count * PageStride(layout_);
  std::byte* const base = groups_[group].data;
  std::memcpy(base + target * bytes, base + source * bytes, static_cast<size_t>(bytes));
}

}  // namespace phyllo
