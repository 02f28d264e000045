#include "model/kv_cache/page_table.h"

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
      pages_.resize(old_count);
      page_ids_.resize(old_count);
      return absl::ResourceExhaustedError(message);
    }
    AppendShared(*std::move(page));
  }
  pages_.resize(new_count);
  page_ids_.resize(new_count);
  return absl::OkStatus();
}

void PageTable::AppendShared(PageHandle page) {
  page_ids_.push_back(page.page_id());
  pages_.push_back(std::move(page));
}

void PageTable::Clear() {
  pages_.clear();
  page_ids_.clear();
}

}  // namespace phyllo
