// Finds which of a large, fixed set of strings a text begins with.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_PREFIX_TRIE_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_PREFIX_TRIE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"

namespace phyllo {

// A byte trie whose nodes are numbered breadth first, so that the children of a node lie side by
// side. At most 9 bytes a node, and no more nodes than bytes of the strings. Immutable,
// thread-safe.
class PrefixTrie {
 public:
  struct Entry {
    absl::string_view text;
    int32_t value;  // >= 0.
  };

  // Of no strings.
  PrefixTrie() { first_.fill(-1); }

  // Of `entries`, whose texts need not outlive the call. Empty texts are left out; of equal ones
  // the last counts.
  explicit PrefixTrie(std::vector<Entry> entries);

  // Calls `visit(length, value)` for each string that `text` begins with, shortest first.
  template <typename Visit>
  void ForEachPrefix(absl::string_view text, Visit&& visit) const {
    if (text.empty()) return;
    int32_t node = first_[static_cast<unsigned char>(text[0])];
    for (size_t length = 1; node >= 0; ++length) {
      if (values_[node] >= 0) visit(length, values_[node]);
      if (length == text.size()) return;
      const unsigned char* const labels = labels_.data() + first_child_[node];
      const auto count = static_cast<size_t>(first_child_[node + 1] - first_child_[node]);
      const void* const found =
          count == 0 ? nullptr
                     : std::memchr(labels, static_cast<unsigned char>(text[length]), count);
      if (found == nullptr) return;
      node = static_cast<int32_t>(static_cast<const unsigned char*>(found) - labels_.data());
    }
  }

 private:
  std::array<int32_t, 256> first_;     // Node of each first byte, -1: none.
  std::vector<unsigned char> labels_;  // [nodes] the byte that leads to the node.
  std::vector<int32_t> values_;        // [nodes] -1: no string ends here.
  std::vector<int32_t> first_child_;   // [nodes + 1]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_PREFIX_TRIE_H_
