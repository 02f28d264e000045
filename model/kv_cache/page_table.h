// The pages of one sequence.
//   PageTable pages(cache.allocator(), cache.page_size());
//   PHYLLO_RETURN_IF_ERROR(pages.Resize(first_position + row_count));  // before the step that
//   writes these positions
#ifndef PHYLLO_MODEL_KV_CACHE_PAGE_TABLE_H_
#define PHYLLO_MODEL_KV_CACHE_PAGE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/kv_cache/page_allocator.h"

namespace phyllo {

// The list of pages that hold positions 0, 1, ... of one sequence: position p lives in slot p %
// page_size of page page_ids()[p / page_size]. Owns one reference to each page. Leading pages may
// have been given back: behind a sliding window nobody reads them. The same page may stand in the
// tables of several sequences whose first tokens agree, as long as nobody writes to it any more.
// Thread-compatible.
class PageTable {
 public:
  // Requires page_size > 0. The allocator must outlive the table.
  PageTable(PageAllocator& allocator, int64_t page_size)
      : allocator_(&allocator), page_size_(page_size) {}
  PageTable(PageTable&&) = default;
  PageTable& operator=(PageTable&&) = default;

  // Requires token_count >= 0. Takes or gives back pages at the end so that the table is as long as
  // token_count tokens need. RESOURCE_EXHAUSTED when the pool is empty; the table is then as it was
  // before.
  absl::Status Resize(int64_t token_count);

  // Gives back the pages before index `page_count`, first to last; their ids become kReleased.
  // Nothing if that was done before. Requires page_count <= page_ids().size().
  void ReleaseLeading(int64_t page_count);

  // Appends a page that already holds the next page_size positions. Requires a handle that refers
  // to a page; or, where all pages so far are released, one that refers to nothing: a released
  // page.
  void AppendShared(PageHandle page);

  // Gives every page back, last to first, and forgets the released ones. The same as Resize(0).
  void Clear();

  static constexpr int32_t kReleased = -1;

  // Ids of the pages in order of position, [page_count]; kReleased for the first released_count().
  absl::Span<const int32_t> page_ids() const { return page_ids_; }
  // The page that holds positions [index * page_size, ...). Requires index in [0,
  // page_ids().size()).
  const PageHandle& page(int64_t index) const { return pages_[index]; }
  // Number of leading pages that were given back.
  int64_t released_count() const { return released_count_; }
  // Number of pages the table refers to.
  int64_t held_count() const { return static_cast<int64_t>(pages_.size()) - released_count_; }
  // Number of tokens up to the end of the last page.
  int64_t token_capacity() const { return static_cast<int64_t>(pages_.size()) * page_size_; }
  int64_t page_size() const { return page_size_; }

 private:
  void Shrink(size_t count);  // to the first `count` pages, from the end

  PageAllocator* allocator_;  // not null
  int64_t page_size_;
  int64_t released_count_ = 0;
  std::vector<PageHandle> pages_;
  std::vector<int32_t> page_ids_;  // ids of pages_, in one row of memory for the kernels
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_PAGE_TABLE_H_
