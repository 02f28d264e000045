// Hands out the ids of KV pages; knows nothing of their storage.
//   PageAllocator allocator(/*page_count=*/4);
//   PHYLLO_ASSIGN_OR_RETURN(PageHandle page, allocator.Allocate());
//   PageHandle same_page = page.Share();  // free again when both handles are gone
//   allocator.Remember(page.page_id());   // its contents may be wanted again
#ifndef PHYLLO_MODEL_KV_CACHE_PAGE_ALLOCATOR_H_
#define PHYLLO_MODEL_KV_CACHE_PAGE_ALLOCATOR_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

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
  // caches. Its contents are whatever its last user left. A remembered page is taken only if there
  // is no other, the one that was freed longest ago first; it is forgotten then, and on_forgotten
  // is told. RESOURCE_EXHAUSTED, naming the counts, when there is none.
  absl::StatusOr<PageHandle> Allocate() ABSL_LOCKS_EXCLUDED(mutex_);

  // Remembers a page: it stays what it is while somebody refers to it, and counts as free
  // afterwards, but may be revived until it is forgotten. Requires a page somebody refers to.
  void Remember(int32_t page_id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Another reference to a remembered page, whether it is free or not.
  PageHandle Revive(int32_t page_id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes a remembered page an ordinary one.
  void Forget(int32_t page_id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Called by Allocate, without a lock held, with the page it forgot. To be set, or reset by null,
  // while nobody allocates.
  void set_on_forgotten(std::function<void(int32_t page_id)> on_forgotten) {
    on_forgotten_ = std::move(on_forgotten);
  }

  // Whether anybody refers to the page.
  bool InUse(int32_t page_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // How many of these pages have one reference only. Ids below 0 count as none.
  int64_t CountSole(absl::Span<const int32_t> page_ids) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Number of pages nobody refers to, in [0, page_count()].
  int64_t free_count() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Number of pages of the pool.
  int64_t page_count() const { return page_count_; }

 private:
  friend class PageHandle;
  void AddReference(int32_t page_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void RemoveReference(int32_t page_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // The list of free remembered pages: a ring through element page_count_, oldest first.
  void Append(int32_t page_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unlink(int32_t page_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t page_count_;
  std::function<void(int32_t page_id)> on_forgotten_;  // may be null

  mutable absl::Mutex mutex_;
  std::vector<int32_t> free_page_ids_ ABSL_GUARDED_BY(mutex_);     // a stack
  std::vector<int32_t> reference_counts_ ABSL_GUARDED_BY(mutex_);  // [page_count]
  std::vector<bool> remembered_ ABSL_GUARDED_BY(mutex_);           // [page_count]
  std::vector<int32_t> next_ ABSL_GUARDED_BY(mutex_);              // [page_count + 1]
  std::vector<int32_t> previous_ ABSL_GUARDED_BY(mutex_);          // [page_count + 1]
  int64_t free_remembered_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_PAGE_ALLOCATOR_H_
