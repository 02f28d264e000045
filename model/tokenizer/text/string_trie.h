// Finds which of a fixed set of strings begins at a place of a text.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_STRING_TRIE_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_STRING_TRIE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace phyllo {

// A byte trie. A scan of a text costs O(its length times the longest string of the set), and one
// table look-up for each byte with which no string begins. Immutable once filled, then thread-safe.
class StringTrie {
 public:
  StringTrie() { first_.fill(-1); }

  // Adds `text` (not empty) with a `value` >= 0. A string that is already there keeps its first
  // value.
  void Insert(absl::string_view text, int32_t value);

  // Calls `accept(value, length)` for the strings that begin at `at`, longest first, until it
  // returns true.
  template <typename Accept>
  bool MatchAt(absl::string_view text, size_t at, Accept&& accept) const {
    int32_t node = first_[static_cast<unsigned char>(text[at])];
    if (node < 0) return false;
    Found found[kMaxNested];
    size_t count = 0;
    for (size_t length = 1; node >= 0; ++length) {
      if (nodes_[node].value >= 0) found[count++ % kMaxNested] = {nodes_[node].value, length};
      if (at + length >= text.size()) break;
      node = Child(node, static_cast<unsigned char>(text[at + length]));
    }
    for (size_t i = 0; i < kMaxNested && i < count; ++i) {
      const Found& longest = found[(count - 1 - i) % kMaxNested];
      if (accept(longest.value, longest.length)) return true;
    }
    return false;
  }

  // False if no string of the set begins with `byte`.
  bool MayBeginWith(char byte) const { return first_[static_cast<unsigned char>(byte)] >= 0; }
  bool empty() const { return nodes_.empty(); }

 private:
  // Of strings that are prefixes of each other, only so many (the longest) are tried.
  static constexpr size_t kMaxNested = 64;

  struct Found {
    int32_t value;
    size_t length;
  };
  struct Node {
    int32_t value = -1;
    std::vector<std::pair<unsigned char, int32_t>> children;
  };

  int32_t Child(int32_t node, unsigned char byte) const {
    for (const auto& [label, child] : nodes_[node].children) {
      if (label == byte) return child;
    }
    return -1;
  }

  std::array<int32_t, 256> first_;  // Node of each first byte, -1: none.
  std::vector<Node> nodes_;
};

inline void StringTrie::Insert(absl::string_view text, int32_t value) {
  int32_t node = -1;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    int32_t child = i == 0 ? first_[byte] : Child(node, byte);
    if (child < 0) {
      child = static_cast<int32_t>(nodes_.size());
      nodes_.emplace_back();
      if (i == 0) {
        first_[byte] = child;
      } else {
        nodes_[node].children.emplace_back(byte, child);
      }
    }
    node = child;
  }
  if (node >= 0 && nodes_[node].value < 0) nodes_[node].value = value;
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_STRING_TRIE_H_
