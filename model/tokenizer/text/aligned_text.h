// A text on its way through the normalizers, which remembers which bytes of the original each of
// its bytes came from.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_ALIGNED_TEXT_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_ALIGNED_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/tokenizer/text/encoding.h"

namespace phyllo {

// Either a view of the original (nothing was changed yet; costs nothing) or a buffer of its own,
// with one source range per byte if alignment is tracked. Thread-compatible. The original must
// outlive it. Movable, not copyable.
class AlignedText {
 public:
  // A view of `original`, which begins at byte `base` of the caller's text.
  AlignedText(absl::string_view original, int64_t base, bool tracked)
      : original_(original), base_(base), tracked_(tracked), is_original_(true) {}
  AlignedText(AlignedText&&) = default;
  AlignedText& operator=(AlignedText&&) = default;

  // An empty buffer of the same tracking, to be filled by the Append functions.
  AlignedText MakeEmpty() const {
    AlignedText empty(absl::string_view(), base_, tracked_);
    empty.is_original_ = false;
    return empty;
  }

  absl::string_view view() const { return is_original_ ? original_ : absl::string_view(buffer_); }

  // Bytes [begin, end) of it.
  AlignedText Slice(size_t begin, size_t end) const {
    AlignedText slice(absl::string_view(), base_ + static_cast<int64_t>(begin), tracked_);
    slice.is_original_ = is_original_;
    if (is_original_) {
      slice.original_ = original_.substr(begin, end - begin);
    } else {
      slice.AppendFrom(*this, begin, end);
    }
    return slice;
  }

  // 0 only if the text begins where the caller's does. Where the original begins in the caller's
  // text.
  int64_t base() const { return base_; }

  // Bytes [begin, end) of the caller's text from which bytes [begin, end) of view() came. REQUIRES:
  // tracked, or unchanged.
  ByteRange OriginalRange(size_t begin, size_t end) const {
    if (is_original_)
      return {base_ + static_cast<int64_t>(begin), base_ + static_cast<int64_t>(end)};
    if (begin < end) return {sources_[begin].begin, sources_[end - 1].end};
    const int64_t at = begin < sources_.size() ? sources_[begin].begin
                       : sources_.empty()      ? base_
                                               : sources_.back().end;
    return {at, at};
  }

  // Appends bytes [begin, end) of `source` with their alignment.
  void AppendFrom(const AlignedText& source, size_t begin, size_t end) {
    buffer_.append(source.view().data() + begin, end - begin);
    if (!tracked_) return;
    for (size_t i = begin; i < end; ++i) sources_.push_back(source.OriginalRange(i, i + 1));
  }

  // Appends `bytes`, all of which stand for bytes [begin, end) of `source` (an insertion if begin
  // == end).
  void AppendInstead(absl::string_view bytes, const AlignedText& source, size_t begin, size_t end) {
    buffer_.append(bytes.data(), bytes.size());
    if (tracked_) sources_.insert(sources_.end(), bytes.size(), source.OriginalRange(begin, end));
  }

 private:
  absl::string_view original_;
  int64_t base_;
  bool tracked_;
  bool is_original_;
  std::string buffer_;
  std::vector<ByteRange> sources_;  // [bytes of buffer_], if tracked.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_ALIGNED_TEXT_H_
