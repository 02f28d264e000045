// Storage of the keys and values of all layers, cut into pages.
//   PHYLLO_ASSIGN_OR_RETURN(const auto cache, KvCache::Create(layout, groups, page_counts));
//   SequencePages pages(cache->page_groups(), cache->layout().page_size);
//   WriteKv(kernels, k, v, slices, cache->layer(i), pool);
#ifndef PHYLLO_MODEL_KV_CACHE_KV_CACHE_H_
#define PHYLLO_MODEL_KV_CACHE_KV_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/kv_cache/layer_groups.h"
#include "model/kv_cache/page_allocator.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/ops/attention.h"
#include "model/tensor/huge_page_arena.h"

namespace phyllo {

// The pages of all layers: memory is taken from the system when a page is first written, so that a
// large cache costs nothing until it is used. What a page holds of all layers lies in one piece, so
// that the layers of a step do not all reach untouched memory at once. Each group of layers has
// page ids of its own; one id means the same page in every layer of the group. Thread-compatible:
// the allocators are thread-safe, the contents belong to the thread that owns the step.
class KvCache {
 public:
  // `page_counts` [groups]. INVALID_ARGUMENT names the size that is out of range: a page count is 0
  // to 2^31 - 1, layers are 1 to 65536. RESOURCE_EXHAUSTED when the system refuses the memory.
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const KvLayout& layout,
                                                         const KvLayerGroups& groups,
                                                         absl::Span<const int64_t> page_counts);
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // The pages of one layer, for the kernels. Requires index in [0, layers).
  KvLayer layer(int64_t index) const;
  // The group of one layer.
  int64_t group_of_layer(int64_t index) const { return group_of_layer_[index]; }

  // How a page of a layer is laid out.
  const KvLayout& layout() const { return layout_; }
  // Bytes of keys and values of one token in all layers.
  int64_t bytes_per_token() const {
    return static_cast<int64_t>(group_of_layer_.size()) * layout_.page_bytes() / layout_.page_size;
  }
  // The pools of the groups, [groups]. Borrowed.
  absl::Span<const KvPageGroup> page_groups() const { return page_groups_; }

  // Copies the keys and values of a page, in all layers of the group, to another. Requires that
  // nobody reads `target`.
  void CopyPage(int64_t group, int32_t source, int32_t target);

  // Bytes that a page of one layer takes.
  static int64_t PageStride(const KvLayout& layout);

 private:
  // The storage and the ids of one group.
  struct Group {
    HugePageArena arena;
    std::byte* data = nullptr;  // in arena: [page_count, layers, PageStride(layout_)]
    std::unique_ptr<PageAllocator> allocator;
    int64_t layer_count = 0;
  };

  KvCache(const KvLayout& layout, const KvLayerGroups& layer_groups, std::vector<Group> groups);

  const KvLayout layout_;
  const std::vector<int64_t> group_of_layer_;  // [layers]
  std::vector<int64_t> index_in_group_;        // [layers]
  const std::vector<Group> groups_;
  std::vector<KvPageGroup> page_groups_;  // [groups]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_KV_CACHE_H_
