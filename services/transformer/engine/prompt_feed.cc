// Invariants: ready_count_ <= asked_count_ <= prompt_count_ and next_position_ <= asked_count_; the
// ranges of asked_ that are not stale follow one another and cover [ready_count_, asked_count_).
// held_ has the rows [next_position_, ready_count_), none if that is empty.
#include "services/transformer/engine/prompt_feed.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace phyllo {

PromptFeed::PromptFeed(int64_t prompt_count, int64_t hidden_size, int64_t chunk_size)
    : prompt_count_(prompt_count), hidden_size_(hidden_size), chunk_size_(chunk_size) {}

std::optional<RowRange> PromptFeed::NextNeed() {
  const int64_t count = std::min(chunk_size_, prompt_count_ - asked_count_);
  if (count <= 0 || asked_count_ + count > next_position_ + 2 * chunk_size_) return std::nullopt;
  const RowRange range = {asked_count_, count};
  asked_.push_back({range});
  asked_count_ += count;
  return range;
}

absl::Status PromptFeed::Accept(int64_t first_position, std::vector<float> rows) {
  const auto size = static_cast<int64_t>(rows.size());
  if (size == 0 || size % hidden_size_ != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("hidden_states have ", size,
                     " elements, must be a positive multiple of hidden_size ", hidden_size_));
  }
  const int64_t count = size / hidden_size_;
  if (asked_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("hidden_states of position ", first_position, " were not asked for"));
  }
  Asked& oldest = asked_.front();
  if (first_position != oldest.range.first_position || count > oldest.range.count) {
    // Without an end: a sum with what a client sent might overflow.
    return absl::InvalidArgumentError(
        absl::StrCat("hidden_states of ", count, " positions from ", first_position,
                     " on do not begin the oldest unanswered need [", oldest.range.first_position,
                     ", ", oldest.range.first_position + oldest.range.count, ")"));
  }
  oldest.range.first_position += count;
  oldest.range.count -= count;
  const bool stale = oldest.stale;
  if (oldest.range.count == 0) asked_.pop_front();
  if (!stale) {
    const int64_t unneeded = std::clamp<int64_t>(next_position_ - ready_count_, 0, count);
    rows.erase(rows.begin(), rows.begin() + unneeded * hidden_size_);
    if (!rows.empty()) held_.push_back(std::move(rows));
    ready_count_ += count;
  }
  return absl::OkStatus();
}

void PromptFeed::Read(int64_t count, absl::Span<float> out) {
  int64_t wanted = count * hidden_size_;
  float* target = out.data();
  while (wanted > 0) {
    const std::vector<float>& front = held_.front();
    const int64_t size = std::min(wanted, static_cast<int64_t>(front.size()) - read_offset_);
    target = std::copy_n(front.data() + read_offset_, size, target);
    wanted -= size;
    read_offset_ += size;
    if (read_offset_ == static_cast<int64_t>(front.size())) {
      held_.pop_front();
      read_offset_ = 0;
    }
  }
  next_position_ += count;
}

void PromptFeed::SkipTo(int64_t position) {
  int64_t unneeded = (std::min(position, ready_count()) - next_position_) * hidden_size_;
  while (unneeded > 0 && !held_.empty()) {
    const int64_t size =
        std::min(unneeded, static_cast<int64_t>(held_.front().size()) - read_offset_);
    unneeded -= size;
    read_offset_ += size;
    if (read_offset_ == static_cast<int64_t>(held_.front().size())) {
      held_.pop_front();
      read_offset_ = 0;
    }
  }
  next_position_ = position;
  if (position <= asked_count_) return;
  for (Asked& asked : asked_) asked.stale = true;
  ready_count_ = asked_count_ = position;
}

void PromptFeed::Restart() {
  for (Asked& asked : asked_) asked.stale = true;
  held_.clear();
  read_offset_ = 0;
  next_position_ = ready_count_ = asked_count_ = 0;
}

}  // namespace phyllo
