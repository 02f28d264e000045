// Storage of the keys and values of all layers, cut into pages.
//   PHYLLO_ASSIGN_OR_RETURN(const auto cache, KvCache::Create(layout, num_hidden_layers,
//   page_count)); PageTable pages(cache->allocator(), cache->layout().page_size); WriteKv(kernels,
//   k, v, slices, cache->layer(i), pool);
#ifndef PHYLLO_MODEL_KV_CACHE_KV_CACHE_H_
#define PHYLLO_MODEL_KV_CACHE_KV_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "model/kv_cache/page_allocator.h"
#include "model/ops/attention.h"
#include "model/tensor/huge_page_arena.h"

namespace phyllo {

// The pages of all layers in one arena: memory is taken from the system when a page is first
// written, so that a large cache costs nothing until it is used. One page id means the same page in
// every layer. Thread-compatible: the allocator is thread-safe, the contents belong to the thread
// that owns the step.
class KvCache {
 public:
  // INVALID_ARGUMENT names the size that is out of range: num_hidden_layers is 1 to 65536,
  // page_count 0 to 2^31 - 1. RESOURCE_EXHAUSTED when the system refuses the memory.
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const KvLayout& layout,
                                                         int64_t num_hidden_layers,
                                                         int64_t page_count);
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // The pages of one layer, for the kernels. Requires index in [0, num_hidden_layers).
  KvLayer layer(int64_t index) const;

  // How a page of a layer is laid out.
  const KvLayout& layout() const { return layout_; }
  // Bytes of keys and values of one token in all layers.
  int64_t bytes_per_token() const {
    return num_hidden_layers_ * layout_.page_bytes() / layout_.page_size;
  }
  PageAllocator& allocator() { return allocator_; }
  const PageAllocator& allocator() const { return allocator_; }

 private:
  KvCache(const KvLayout& layout, int64_t num_hidden_layers, int64_t page_count,
          HugePageArena arena, std::byte* data);

  const KvLayout layout_;
  const int64_t num_hidden_layers_;
  const HugePageArena arena_;
  std::byte* const data_;  // in arena_: [num_hidden_layers, page_count, PageStride(layout_)]
  PageAllocator allocator_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_KV_CACHE_H_
