#include "model/kv_cache/page_table.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace phyllo {

absl::Status PageTable::Resize(int64_t token_count) {
  const size_t old_count = pages_.size();
  const size_t new_count = static_cast<size_t>((token_count + page_size_ - 1) / page_size_);
  while (pages_.size() < new_count) {
    absl::StatusOr<PageHandle> page = allocator_->Allocate();
    if (!page.ok()) {
      const std::string message =
          absl::StrCat(page.status().message(), "; ", token_count, " tokens need ", new_count,
                       " pages of ", page_size_, ", the sequence has ", old_count);
      Shrink(old_count);
      return absl::ResourceExhaustedError(message);
    }
    AppendShared(*std::move(page));
  }
  Shrink(new_count);
  return absl::OkStatus();
}

void PageTable::Shrink(size_t count) {
  while (pages_.size() > count) pages_.pop_back();
  page_ids_.resize(count);
  released_count_ = std::min(released_count_, static_cast<int64_t>(count));
}

void PageTable::ReleaseLeading(int64_t page_count) {
  for (; released_count_ < page_count; ++released_count_) {
    pages_[released_count_] = PageHandle();
    page_ids_[released_count_] = kReleased;
  }
}

void PageTable::AppendShared(PageHandle page) {
  if (page.page_id() == kReleased) ++released_count_;
  page_ids_.push_back(page.page_id());
  pages_.push_back(std::move(page));
}

void PageTable::Clear() { Shrink(0); }

}  // namespace phyllo
