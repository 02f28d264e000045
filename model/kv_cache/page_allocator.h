// Hands out the ids of KV pages; knows nothing of their storage.
//   PageAllocator allocator(/*page_count=*/4);
//   PHYLLO_ASSIGN_OR_RETURN(PageHandle page, allocator.Allocate());
//   PageHandle same_page = page.Share();  // free again when both handles are gone
#ifndef PHYLLO_MODEL_KV_CACHE_PAGE_ALLOCATOR_H_
#define PHYLLO_MODEL_KV_CACHE_PAGE_ALLOCATOR_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace phyllo {

class PageAllocator;

// One reference to one page. Movable, not copyable: a second reference has a name, Share. The page
// is free again when its last handle is destroyed. A default-made or moved-from handle refers to
// nothing. Thread-compatible.
class PageHandle {
 public:
  PageHandle() = default;
  PageHandle(PageHandle&& other) noexcept;
  PageHandle& operator=(PageHandle&& other) noexcept;
  PageHandle(const PageHandle&) = delete;
  PageHandle& operator=(const PageHandle&) = delete;
  ~PageHandle();

  // Requires a handle that refers to a page. Returns another reference to that page.
  PageHandle Share() const;

  // The page's id in [0, page_count), or -1 if the handle refers to nothing.
  int32_t page_id() const { return page_id_; }

 private:
  friend class PageAllocator;
  PageHandle(PageAllocator* allocator, int32_t page_id)
      : allocator_(allocator), page_id_(page_id) {}
  void Reset();

  PageAllocator* allocator_ = nullptr;
  int32_t page_id_ = -1;
};

// The pool of page ids [0, page_count) with a reference count each. Must outlive every handle.
// Thread-safe.
class PageAllocator {
 public:
  // Requires page_count in [0, 2^31).
  explicit PageAllocator(int64_t page_count);
  PageAllocator(const PageAllocator&) = delete;
  PageAllocator& operator=(const PageAllocator&) = delete;

  // Returns a page nobody refers to; the one freed last comes first, as it is the warmest in the
  // caches. Its contents are whatever its last user left. RESOURCE_EXHAUSTED, naming the counts,
  // when there is none.
  absl::StatusOr<PageHandle> Allocate() ABSL_LOCKS_EXCLUDED(mutex_);

  // Number of pages nobody refers to, in [0, page_count()].
  int64_t free_count() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Number of pages of the pool.
  int64_t page_count() const { return page_count_; }

 private:
  friend class PageHandle;
  void AddReference(int32_t page_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void RemoveReference(int32_t page_id) ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t page_count_;

  mutable absl::Mutex mutex_;
  std::vector<int32_t> free_page_ids_ ABSL_GUARDED_BY(mutex_);     // a stack
  std::vector<int32_t> reference_counts_ ABSL_GUARDED_BY(mutex_);  // [page_count]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_PAGE_ALLOCATOR_H_
