#include "model/kv_cache/page_allocator.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// Invariants: an id whose reference count is zero is on the free stack or, if it is remembered, in
// the ring; any other is on neither. The stack's capacity is page_count from the start, so freeing
// never allocates.

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
    : page_count_(page_count),
      reference_counts_(page_count, 0),
      remembered_(page_count, false),
      next_(page_count + 1, static_cast<int32_t>(page_count)),
      previous_(page_count + 1, static_cast<int32_t>(page_count)) {
  free_page_ids_.reserve(page_count);
  for (int64_t page_id = page_count - 1; page_id >= 0; --page_id)
    free_page_ids_.push_back(static_cast<int32_t>(page_id));
}

absl::StatusOr<PageHandle> PageAllocator::Allocate() {
  int32_t page_id = -1;
  bool forgotten = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!free_page_ids_.empty()) {
      page_id = free_page_ids_.back();
      free_page_ids_.pop_back();
    } else if (free_remembered_count_ > 0) {
      page_id = next_[page_count_];
      Unlink(page_id);
      remembered_[page_id] = false;
      forgotten = true;
    } else {
      return absl::ResourceExhaustedError(
          absl::StrCat("no free KV page: all ", page_count_, " pages are in use"));
    }
    reference_counts_[page_id] = 1;
  }
  if (forgotten && on_forgotten_ != nullptr) on_forgotten_(page_id);
  return PageHandle(this, page_id);
}

void PageAllocator::Remember(int32_t page_id) {
  absl::MutexLock lock(&mutex_);
  remembered_[page_id] = true;
}

PageHandle PageAllocator::Revive(int32_t page_id) {
  absl::MutexLock lock(&mutex_);
  if (reference_counts_[page_id]++ == 0) Unlink(page_id);
  return PageHandle(this, page_id);
}

void PageAllocator::Forget(int32_t page_id) {
  absl::MutexLock lock(&mutex_);
  if (!remembered_[page_id]) return;
  remembered_[page_id] = false;
  if (reference_counts_[page_id] > 0) return;
  Unlink(page_id);
  free_page_ids_.push_back(page_id);
}

bool PageAllocator::InUse(int32_t page_id) const {
  absl::MutexLock lock(&mutex_);
  return reference_counts_[page_id] > 0;
}

int64_t PageAllocator::CountSole(absl::Span<const int32_t> page_ids) const {
  absl::MutexLock lock(&mutex_);
  return std::count_if(page_ids.begin(), page_ids.end(), [&](int32_t page_id) {
    mutex_.AssertReaderHeld();
    return page_id >= 0 && reference_counts_[page_id] == 1;
  });
}

int64_t PageAllocator::free_count() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(free_page_ids_.size()) + free_remembered_count_;
}

void PageAllocator::AddReference(int32_t page_id) {
  absl::MutexLock lock(&mutex_);
  ++reference_counts_[page_id];
}

void PageAllocator::RemoveReference(int32_t page_id) {
  absl::MutexLock lock(&mutex_);
  if (--reference_counts_[page_id] > 0) return;
  if (remembered_[page_id]) {
    Append(page_id);
  } else {
    free_page_ids_.push_back(page_id);
  }
}

void PageAllocator::Append(int32_t page_id) {
  const auto end = static_cast<int32_t>(page_count_);
  next_[page_id] = end;
  previous_[page_id] = previous_[end];
  next_[previous_[end]] = page_id;
  previous_[end] = page_id;
  ++free_remembered_count_;
}

void PageAllocator::Unlink(int32_t page_id) {
  next_[previous_[page_id]] = next_[page_id];
  previous_[next_[page_id]] = previous_[page_id];
  --free_remembered_count_;
}

}  // namespace phyllo
