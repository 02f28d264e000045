#include "model/tokenizer/word_models/prefix_trie.h"

#include <algorithm>

namespace phyllo {

PrefixTrie::PrefixTrie(std::vector<Entry> entries) : PrefixTrie() {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.text < b.text; });
  // The strings that go through a node: they share their first `depth` bytes.
  struct Range {
    size_t begin;
    size_t end;
    size_t depth;
  };
  std::vector<Range> ranges;  // [nodes]
  // Appends the children of a node that `range` goes through.
  const auto append_children = [&](Range range) {
    while (range.begin < range.end) {
      const char label = entries[range.begin].text[range.depth];
      size_t end = range.begin;
      while (end < range.end && entries[end].text[range.depth] == label) ++end;
      labels_.push_back(static_cast<unsigned char>(label));
      ranges.push_back({range.begin, end, range.depth + 1});
      range.begin = end;
    }
  };
  Range all{0, entries.size(), 0};
  while (all.begin < all.end && entries[all.begin].text.empty()) ++all.begin;
  append_children(all);
  for (size_t node = 0; node < ranges.size(); ++node) {
    if (ranges[node].depth == 1) first_[labels_[node]] = static_cast<int32_t>(node);
    first_child_.push_back(static_cast<int32_t>(ranges.size()));
    Range range = ranges[node];
    values_.push_back(-1);
    for (; range.begin < range.end && entries[range.begin].text.size() == range.depth;
         ++range.begin) {
      values_.back() = entries[range.begin].value;
    }
    append_children(range);
  }
  first_child_.push_back(static_cast<int32_t>(ranges.size()));
}

}  // namespace phyllo
