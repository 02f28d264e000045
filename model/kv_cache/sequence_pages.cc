#include "model/kv_cache/sequence_pages.h"

#include <utility>

#include "model/kv_cache/layer_groups.h"

namespace phyllo {

SequencePages::SequencePages(absl::Span<const KvPageGroup> groups, int64_t page_size) {
  for (const KvPageGroup& group : groups) {
    tables_.emplace_back(*group.allocator, page_size);
    windows_.push_back(group.window);
    allocators_.push_back(group.allocator);
  }
}

absl::Status SequencePages::Resize(int64_t token_count) {
  const int64_t old_capacity = token_capacity();
  for (size_t i = 0; i < tables_.size(); ++i) {
    absl::Status status = tables_[i].Resize(token_count);
    if (status.ok()) continue;
    // Only growing can fail, and giving back what was just taken cannot.
    for (size_t grown = 0; grown < i; ++grown) tables_[grown].Resize(old_capacity).IgnoreError();
    return status;
  }
  return absl::OkStatus();
}

void SequencePages::ReleaseBefore(int64_t position) {
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (!windows_[i].has_value()) continue;
    tables_[i].ReleaseLeading(FirstVisiblePage(windows_[i], position, page_size()));
  }
}

void SequencePages::Clear() {
  for (PageTable& table : tables_) table.Clear();
}

}  // namespace phyllo
