#include "model/kv_cache/page_allocator.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// Invariant: an id is on the free stack exactly when its reference count is zero. The stack's
// capacity is page_count from the start, so freeing never allocates.

namespace phyllo {

PageHandle::PageHandle(PageHandle&& other) noexcept
    : allocator_(std::exchange(other.allocator_, nullptr)),
      page_id_(std::exchange(other.page_id_, -1)) {}

PageHandle& PageHandle::operator=(PageHandle&& other) noexcept {
  if (this != &other) {
    Reset();
    allocator_ = std::exchange(other.allocator_, nullptr);
    page_id_ = std::exchange(other.page_id_, -1);
  }
  return *this;
}

PageHandle::~PageHandle() { Reset(); }

PageHandle PageHandle::Share() const {
  allocator_->AddReference(page_id_);
  return PageHandle(allocator_, page_id_);
}

void PageHandle::Reset() {
  if (allocator_ != nullptr) allocator_->RemoveReference(page_id_);
  allocator_ = nullptr;
  page_id_ = -1;
}

PageAllocator::PageAllocator(int64_t page_count)
    : page_count_(page_count), reference_counts_(page_count, 0) {
  free_page_ids_.reserve(page_count);
  for (int64_t page_id = page_count - 1; page_id >= 0; --page_id)
    free_page_ids_.push_back(static_cast<int32_t>(page_id));
}

absl::StatusOr<PageHandle> PageAllocator::Allocate() {
  absl::MutexLock lock(&mutex_);
  if (free_page_ids_.empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no free KV page: all ", page_count_, " pages are in use"));
  }
  const int32_t page_id = free_page_ids_.back();
  free_page_ids_.pop_back();
  reference_counts_[page_id] = 1;
  return PageHandle(this, page_id);
}

int64_t PageAllocator::free_count() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(free_page_ids_.size());
}

void PageAllocator::AddReference(int32_t page_id) {
  absl::MutexLock lock(&mutex_);
  ++reference_counts_[page_id];
}

void PageAllocator::RemoveReference(int32_t page_id) {
  absl::MutexLock lock(&mutex_);
  if (--reference_counts_[page_id] == 0) free_page_ids_.push_back(page_id);
}

}  // namespace phyllo
