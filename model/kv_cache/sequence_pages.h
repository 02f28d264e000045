// The pages of one sequence in all groups of layers.
//   SequencePages pages(cache.page_groups(), cache.layout().page_size);
//   pages.ReleaseBefore(first_position);                             // before each step,
//   PHYLLO_RETURN_IF_ERROR(pages.Resize(first_position + row_count));  // in this order
#ifndef PHYLLO_MODEL_KV_CACHE_SEQUENCE_PAGES_H_
#define PHYLLO_MODEL_KV_CACHE_SEQUENCE_PAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/kv_cache/page_allocator.h"
#include "model/kv_cache/page_table.h"

namespace phyllo {

// The pool of one group of layers (layer_groups.h) and the window these layers see.
struct KvPageGroup {
  PageAllocator* allocator = nullptr;            // not null
  std::optional<int64_t> window = std::nullopt;  // absent = a query sees all keys before it
};

// One page table for each group; all of them have the same length, but the tables of groups with a
// window lose their leading pages while the sequence grows. Thread-compatible.
class SequencePages {
 public:
  // Requires at least one group and page_size > 0. The allocators must outlive the pages.
  SequencePages(absl::Span<const KvPageGroup> groups, int64_t page_size);
  SequencePages(SequencePages&&) = default;
  SequencePages& operator=(SequencePages&&) = default;

  // Requires token_count >= 0. Takes or gives back pages at the end so that every table is as long
  // as token_count tokens need. RESOURCE_EXHAUSTED when a pool is empty; all tables are then as
  // they were before.
  absl::Status Resize(int64_t token_count);

  // Gives back the pages that no query at `position` or behind it reads.
  void ReleaseBefore(int64_t position);

  // Gives every page back.
  void Clear();

  int64_t group_count() const { return static_cast<int64_t>(tables_.size()); }
  // Requires group in [0, group_count()).
  PageTable& table(int64_t group) { return tables_[group]; }
  const PageTable& table(int64_t group) const { return tables_[group]; }
  std::optional<int64_t> window(int64_t group) const { return windows_[group]; }

  // Number of pages of the group that nobody else refers to.
  int64_t CountSole(int64_t group) const {
    return allocators_[group]->CountSole(tables_[group].page_ids());
  }

  // Pages of every table, released ones included.
  int64_t page_count() const { return static_cast<int64_t>(tables_[0].page_ids().size()); }
  // Number of tokens up to the end of the last page.
  int64_t token_capacity() const { return tables_[0].token_capacity(); }
  int64_t page_size() const { return tables_[0].page_size(); }

 private:
  std::vector<PageTable> tables_;                 // [groups]
  std::vector<std::optional<int64_t>> windows_;   // [groups]
  std::vector<const PageAllocator*> allocators_;  // [groups]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_SEQUENCE_PAGES_H_
